// SPDX-License-Identifier: Apache-2.0
// What client and server have in common.
'use strict';

const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const definition = loader.loadSync('grpc/testing/test.proto', {
  includeDirs: [process.env.POLYGLOT_PROTO],
  keepCase: true,
});

exports.grpc = grpc;
exports.testing = grpc.loadPackageDefinition(definition).grpc.testing;
exports.echoInitial = 'x-grpc-test-echo-initial';
exports.echoTrailing = 'x-grpc-test-echo-trailing-bin';
exports.payload = (size) => ({ body: Buffer.alloc(size) });

// flags reads "--name value" pairs.
exports.flags = () => {
  const flags = {};
  for (let i = 2; i < process.argv.length; i += 2) {
    flags[process.argv[i].replace(/^--/, '')] = process.argv[i + 1];
  }
  return flags;
};
