// SPDX-License-Identifier: Apache-2.0

//go:build !grpctrace

// Package nettrace makes grpc.EnableTracing record RPCs for golang.org/x/net/trace, whose handlers serve
// the records at /debug/requests on http.DefaultServeMux:
//
//	import _ "google.golang.org/grpc/experimental/nettrace"
//
// The build tag grpctrace does the same for a program whose source should not change. This is a package
// of its own because x/net/trace brings html/template and text/template, and with these the linker can't
// leave out methods that nobody calls: a small program grows by a third.
//
// Each RPC of a server is a trace in the family "grpc.Recv.Service", and each attempt of a client's RPC is
// one in "grpc.Sent.Service". A trace has the peer, the time that was left, the messages, which are
// formatted when somebody looks at the trace, and the error. A handler finds its trace with
// trace.FromContext.
//
// Experimental: this API may change in a later release.
package nettrace

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/internal/nettrace"
)

func init() {
	nettrace.Register(func() bool { return grpc.EnableTracing })
}
