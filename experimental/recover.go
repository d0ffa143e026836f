// SPDX-License-Identifier: Apache-2.0

package experimental

import (
	"context"

	"google.golang.org/grpc"
)

// RecoverPanics returns a ServerOption that makes an RPC fail if its handler panics; without it the process
// ends. The RPC fails with code Internal, and a message that names only the method. The panic's value
// and the stack are logged as an error, and passed to report, which may be nil. If report returns an
// error, the RPC ends with that instead, and the client gets the error's text.
//
// The option recovers panics of the handler, unary or streaming, also that of UnknownServiceHandler, and of
// all interceptors around it, behind ServeHTTP too. report runs on the handler's goroutine, and ctx is the
// RPC's context as the outermost interceptor sees it. A handler that calls runtime.Goexit does not panic.
// If a handler starts a goroutine and that panics, the process still ends. So it does if a tap, a stats
// handler, or a codec outside of the handler panics. For callbacks of streams that were handed over, there
// is streams.Options.Recover.
//
// The client sees what an RPC ends with as any other status: it retries if its service config names the
// code, and report is called for each attempt, or hedge, that panics. bufconn, unix sockets and TLS work
// as TCP does. With package xds, pass the option to xds.NewGRPCServer.
//
// If a client can make a handler panic by what it sends, that costs the client nothing, but each panic
// logs a stack.
//
// By default a panic ends the process, as it does without gRPC: a handler that panicked while it held a
// lock, or halfway through a change, leaves that behind.
func RecoverPanics(report func(ctx context.Context, p Panic) error) grpc.ServerOption {
	return serverRecovery{report: report}
}

// Panic describes a panic of a handler.
type Panic struct {
	Method string // "/package.Service/Method"
	Value  any    // what panic was called with
	Stack  []byte // of the handler's goroutine, as runtime/debug.Stack prints it
}

// serverRecovery is an option that package grpc recognises by its method.
type serverRecovery struct {
	grpc.EmptyServerOption
	report func(context.Context, Panic) error
}

func (o serverRecovery) Panicked(ctx context.Context, method string, value any, stack []byte) error {
	if o.report == nil {
		return nil
	}
	return o.report(ctx, Panic{Method: method, Value: value, Stack: stack})
}
