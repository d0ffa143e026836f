// SPDX-License-Identifier: Apache-2.0
// The test service with @grpc/grpc-js.
//
//   node server.js [--port N] [--cert FILE --key FILE]
//
// Prints "listening on ADDRESS", and stops when its input ends.
'use strict';

const fs = require('fs');
const { grpc, testing, echoInitial, echoTrailing, payload, flags } = require('./common');

function echoHeader(call) {
  const value = call.metadata.get(echoInitial);
  if (value.length > 0) {
    const header = new grpc.Metadata();
    header.set(echoInitial, value[0]);
    call.sendMetadata(header);
  }
}

function echoedTrailer(call) {
  const trailer = new grpc.Metadata();
  const value = call.metadata.get(echoTrailing);
  if (value.length > 0) {
    trailer.set(echoTrailing, value[0]);
  }
  return trailer;
}

// wantedStatus is the error that a request asks for, or null.
function wantedStatus(call, request) {
  const s = request.response_status;
  return s && s.code ? { code: s.code, details: s.message, metadata: echoedTrailer(call) } : null;
}

function emptyCall(call, callback) {
  echoHeader(call);
  callback(null, {}, echoedTrailer(call));
}

function unaryCall(call, callback) {
  echoHeader(call);
  const error = wantedStatus(call, call.request);
  if (error) {
    callback(error);
    return;
  }
  callback(null, { payload: payload(call.request.response_size || 0) }, echoedTrailer(call));
}

function streamingInputCall(call, callback) {
  echoHeader(call);
  let size = 0;
  call.on('data', (request) => {
    size += request.payload ? request.payload.body.length : 0;
  });
  call.on('end', () => callback(null, { aggregated_payload_size: size }, echoedTrailer(call)));
  call.on('error', () => {});
}

// serve writes the replies that a request orders, and returns whether the stream goes on.
function serve(call, request) {
  const error = wantedStatus(call, request);
  if (error) {
    call.emit('error', error);
    return false;
  }
  for (const p of request.response_parameters || []) {
    call.write({ payload: payload(p.size || 0) });
  }
  return true;
}

function streamingOutputCall(call) {
  echoHeader(call);
  if (serve(call, call.request)) {
    call.end(echoedTrailer(call));
  }
}

function fullDuplexCall(call) {
  echoHeader(call);
  let open = true;
  call.on('data', (request) => {
    open = open && serve(call, request);
  });
  call.on('end', () => {
    if (open) {
      call.end(echoedTrailer(call));
    }
  });
  call.on('error', () => {});
}

const f = flags();
const server = new grpc.Server({ 'grpc.max_receive_message_length': -1 });
server.addService(testing.TestService.service, {
  EmptyCall: emptyCall,
  UnaryCall: unaryCall,
  StreamingInputCall: streamingInputCall,
  StreamingOutputCall: streamingOutputCall,
  FullDuplexCall: fullDuplexCall,
});
const creds = f.cert
  ? grpc.ServerCredentials.createSsl(null, [
      { cert_chain: fs.readFileSync(f.cert), private_key: fs.readFileSync(f.key) },
    ])
  : grpc.ServerCredentials.createInsecure();
server.bindAsync(`127.0.0.1:${f.port || 0}`, creds, (error, port) => {
  if (error) {
    throw error;
  }
  console.log(`listening on 127.0.0.1:${port}`);
});
process.stdin.resume();
process.stdin.on('end', () => {
  server.tryShutdown(() => process.exit(0));
});
