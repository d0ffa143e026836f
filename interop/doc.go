// SPDX-License-Identifier: Apache-2.0

// Package interop holds the service and the test cases that gRPC implementations check
// each other with: grpc.testing.TestService, and the cases of "Interoperability Test Case
// Descriptions" (doc/interop-test-descriptions.md in github.com/grpc/grpc) that need
// neither a cloud nor a proxy. Cases of our own look at what a channel does with several
// servers, with one that does not listen yet, and with credentials of single RPCs.
//
// Everything here uses public API only, so that the same sources can be built against
// another implementation of google.golang.org/grpc; `make interop` does so with the
// published one and runs every case in both directions. The programs are in the client
// and server folders, the runner in matrix.
package interop
