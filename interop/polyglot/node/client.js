// SPDX-License-Identifier: Apache-2.0
// The interoperability cases with @grpc/grpc-js.
//
//   node client.js --addr HOST:PORT [--ca FILE --server-name NAME] [--case a,b | --load SECONDS]
//
// Prints a line a case, "ok|FAIL<tab>name<tab>detail", or after a load a line for each kind of
// outcome, "load<tab>count<tab>kind".
'use strict';

const assert = require('assert');
const fs = require('fs');
const { grpc, testing, echoInitial, echoTrailing, payload, flags } = require('./common');

const requestSizes = [27182, 8, 1828, 45904];
const responseSizes = [31415, 9, 2653, 58979];
const largeRequest = 271828;
const largeResponse = 314159;
const limit = () => ({ deadline: Date.now() + 20000 });
const sum = (sizes) => sizes.reduce((a, b) => a + b, 0);

const largeCall = (more) => ({ response_size: largeResponse, payload: payload(largeRequest), ...more });
const output = (sizes, request = 0) => ({
  response_parameters: sizes.map((size) => ({ size })),
  payload: payload(request),
});

// unary makes a call, and resolves to its reply and metadata, or rejects with its status.
function unary(client, method, request, metadata = new grpc.Metadata(), options = limit()) {
  return new Promise((resolve, reject) => {
    const seen = {};
    const call = client[method](request, metadata, options, (error, reply) => {
      seen.error = error;
      seen.reply = reply;
    });
    call.on('metadata', (header) => {
      seen.header = header;
    });
    call.on('status', (status) => {
      seen.trailer = status.metadata;
      setImmediate(() => (seen.error ? reject(seen.error) : resolve(seen)));
    });
  });
}

// ended resolves to the sizes of a stream's replies when it ends, or rejects with its status.
function ended(call, onReply = () => {}) {
  return new Promise((resolve, reject) => {
    const seen = { sizes: [] };
    call.on('metadata', (header) => {
      seen.header = header;
    });
    call.on('data', (reply) => {
      seen.sizes.push(reply.payload.body.length);
      onReply(seen.sizes.length);
    });
    call.on('status', (status) => {
      seen.trailer = status.metadata;
    });
    call.on('error', reject);
    call.on('end', () => setImmediate(() => resolve(seen)));
  });
}

async function expectStatus(promise, code, message) {
  let error;
  try {
    await promise;
  } catch (e) {
    error = e;
  }
  assert(error, `succeeds, want code ${code}`);
  assert.strictEqual(error.code, code, String(error));
  if (message !== undefined) {
    assert.strictEqual(error.details, message);
  }
}

const cases = {
  async empty_unary(client) {
    assert.deepStrictEqual({ ...(await unary(client, 'EmptyCall', {})).reply }, {});
  },
  async large_unary(client) {
    const { reply } = await unary(client, 'UnaryCall', largeCall());
    assert.strictEqual(reply.payload.body.length, largeResponse);
  },
  async server_compressed_unary(client) {
    for (const value of [true, false]) {
      const { reply } = await unary(client, 'UnaryCall', largeCall({ response_compressed: { value } }));
      assert.strictEqual(reply.payload.body.length, largeResponse);
    }
  },
  async client_streaming(client) {
    const reply = await new Promise((resolve, reject) => {
      const call = client.StreamingInputCall(limit(), (error, r) => (error ? reject(error) : resolve(r)));
      requestSizes.forEach((n) => call.write({ payload: payload(n) }));
      call.end();
    });
    assert.strictEqual(reply.aggregated_payload_size, sum(requestSizes));
  },
  async server_streaming(client) {
    const { sizes } = await ended(client.StreamingOutputCall(output(responseSizes), limit()));
    assert.deepStrictEqual(sizes, responseSizes);
  },
  async server_compressed_streaming(client) {
    const want = [31415, 2653];
    const request = output(want);
    request.response_parameters[0].compressed = { value: true };
    request.response_parameters[1].compressed = { value: false };
    const { sizes } = await ended(client.StreamingOutputCall(request, limit()));
    assert.deepStrictEqual(sizes, want);
  },
  async ping_pong(client) {
    const call = client.FullDuplexCall(limit());
    const send = (n) => call.write(output([responseSizes[n]], requestSizes[n]));
    const end = ended(call, (n) => (n < requestSizes.length ? send(n) : call.end()));
    send(0);
    assert.deepStrictEqual((await end).sizes, responseSizes);
  },
  async empty_stream(client) {
    const call = client.FullDuplexCall(limit());
    const end = ended(call);
    call.end();
    assert.deepStrictEqual((await end).sizes, []);
  },
  async custom_metadata(client) {
    const trailer = Buffer.from([0xab, 0xab, 0xab]);
    const metadata = new grpc.Metadata();
    metadata.set(echoInitial, 'test_initial_metadata_value');
    metadata.set(echoTrailing, trailer);
    const seen = [await unary(client, 'UnaryCall', largeCall(), metadata)];
    const call = client.FullDuplexCall(metadata, limit());
    const end = ended(call);
    call.write(output([largeResponse], largeRequest));
    call.end();
    seen.push(await end);
    for (const s of seen) {
      assert.deepStrictEqual(s.header.get(echoInitial), ['test_initial_metadata_value']);
      assert.deepStrictEqual(s.trailer.get(echoTrailing), [trailer]);
    }
  },
  async status_code_and_message(client) {
    const response_status = { code: 2, message: 'test status message' };
    await expectStatus(unary(client, 'UnaryCall', { response_status }), 2, response_status.message);
    const call = client.FullDuplexCall(limit());
    const end = ended(call);
    call.write({ response_status });
    call.end();
    await expectStatus(end, 2, response_status.message);
  },
  async special_status_message(client) {
    const message = '\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \u{1f608}\t\n';
    await expectStatus(unary(client, 'UnaryCall', { response_status: { code: 2, message } }), 2, message);
  },
  async unimplemented_method(client) {
    await expectStatus(unary(client, 'UnimplementedCall', {}), grpc.status.UNIMPLEMENTED);
  },
  async unimplemented_service(_, other) {
    await expectStatus(unary(other, 'UnimplementedCall', {}), grpc.status.UNIMPLEMENTED);
  },
  async cancel_after_begin(client) {
    const end = new Promise((resolve, reject) => {
      const call = client.StreamingInputCall(limit(), (error, r) => (error ? reject(error) : resolve(r)));
      setImmediate(() => call.cancel());
    });
    await expectStatus(end, grpc.status.CANCELLED);
  },
  async cancel_after_first_response(client) {
    const call = client.FullDuplexCall(limit());
    const end = ended(call, () => call.cancel());
    call.write(output([responseSizes[0]], requestSizes[0]));
    await expectStatus(end, grpc.status.CANCELLED);
  },
  async timeout_on_sleeping_server(client) {
    const call = client.FullDuplexCall({ deadline: Date.now() + 1 });
    const end = ended(call);
    call.write(output([], requestSizes[0]));
    await expectStatus(end, grpc.status.DEADLINE_EXCEEDED);
  },
};

// load makes eight calls at a time, half of them of streams.
async function load(client, seconds) {
  const outcomes = new Map();
  const until = Date.now() + seconds * 1000;
  const waiting = () => new grpc.Metadata({ waitForReady: true });
  const work = async (n) => {
    while (Date.now() < until) {
      let kind = 'OK';
      try {
        if (n % 2) {
          await unary(client, 'UnaryCall', { response_size: 1000, payload: payload(1000) }, waiting());
        } else {
          const call = client.StreamingOutputCall(output(Array(10).fill(1000)), waiting(), limit());
          const { sizes } = await ended(call);
          assert.strictEqual(sizes.length, 10);
        }
      } catch (e) {
        kind = e.message.replace(/\n/g, ' ');
      }
      outcomes.set(kind, (outcomes.get(kind) || 0) + 1);
    }
  };
  await Promise.all([...Array(8).keys()].map(work));
  for (const [kind, n] of outcomes) {
    console.log(`load\t${n}\t${kind}`);
  }
}

async function main() {
  const f = flags();
  const creds = f.ca ? grpc.credentials.createSsl(fs.readFileSync(f.ca)) : grpc.credentials.createInsecure();
  const options = f['server-name'] ? { 'grpc.ssl_target_name_override': f['server-name'] } : {};
  const client = new testing.TestService(f.addr, creds, options);
  const other = new testing.UnimplementedService(f.addr, creds, options);
  if (f.load) {
    await load(client, Number(f.load));
    process.exit(0);
  }
  let failed = 0;
  for (const [name, run] of Object.entries(cases)) {
    if (f.case && f.case !== 'all' && !f.case.split(',').includes(name)) {
      continue;
    }
    const began = Date.now();
    try {
      await run(client, other);
      console.log(`ok\t${name}\t${Date.now() - began}ms`);
    } catch (e) {
      failed = 1;
      console.log(`FAIL\t${name}\t${String(e.message).replace(/\n/g, ' ')}`);
    }
  }
  process.exit(failed);
}

main();
