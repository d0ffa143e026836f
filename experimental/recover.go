// SPDX-License-Identifier: Apache-2.0

package experimental

import (
	"context"

	"google.golang.org/grpc"
)

// RecoverPanics has an RPC whose handler panics fail, where otherwise the process ends: with code
// Internal, and a message that names the method alone. The panic's value and the stack are logged
// as an error, and given to report, which may be nil. If report returns an error the RPC ends with
// that instead; its text goes to the client.
//
// What is recovered is the handler, unary or streaming, also that of UnknownServiceHandler, and all
// interceptors around it, behind ServeHTTP too. report runs where the handler did, and ctx is the
// RPC's as the outermost interceptor sees it. A handler that calls runtime.Goexit does not panic,
// and neither does one whose goroutine starts another that does: that one still ends the process.
// So do panics of taps, stats handlers and codecs outside of the handler. Callbacks of streams that
// were handed over have streams.Options.Recover.
//
// What an RPC ends with is seen by the client as any status: it retries, if its service config names the
// code, and each attempt, or hedge, that panics is reported by itself. bufconn, unix sockets and TLS are
// as TCP; with package xds, give the option to xds.NewGRPCServer.
//
// A handler that panics for what a client sends costs that client nothing: each panic logs a stack.
//
// The default is that a panic ends the process, as it does without gRPC: a handler that panicked
// with a lock held, or halfway through a change, leaves that behind.
func RecoverPanics(report func(ctx context.Context, p Panic) error) grpc.ServerOption {
	return serverRecovery{report: report}
}

// Panic is one of a handler.
type Panic struct {
	Method string // "/package.Service/Method"
	Value  any    // what panic was called with
	Stack  []byte // of the handler's goroutine, as runtime/debug.Stack prints it
}

// serverRecovery is known to package grpc by its method.
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
