// SPDX-License-Identifier: Apache-2.0

// Package interop has the service and the test cases with which gRPC implementations check
// each other: grpc.testing.TestService, and the cases of "Interoperability Test Case
// Descriptions" (doc/interop-test-descriptions.md in github.com/grpc/grpc) that need
// neither a cloud nor a proxy. This module's own cases test what a channel does with several
// servers, with a server that does not listen yet, and with credentials of single RPCs.
//
// The package and its programs use only public API, so that the same sources can be built
// against another implementation of google.golang.org/grpc. `make interop` builds them against
// this module and against the published one, and runs every case in both directions. The
// programs are in the folders client and server, and matrix runs them.
package interop
