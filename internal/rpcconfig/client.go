// SPDX-License-Identifier: Apache-2.0

// Package rpcconfig has the interfaces for configuring each RPC by more than its method's name.
//
// On the client, a resolver configures RPCs (gRFC A31): it puts a [Selector] into its state with
// [WithSelector], and the channel calls the Selector once for each RPC. On the server, the listener
// configures RPCs (gRFC A36): a server option has a [Source], which gives each connection a
// [Router], and the server calls the Router once for each RPC.
//
// The package has only the types. RPCs for which none of them is set pay nothing for it.
package rpcconfig

import (
	"context"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
)

// Selector chooses the configuration of each RPC of a channel. The channel uses it as long as the
// state that has it is the resolver's last one.
type Selector interface {
	// Select returns the configuration of an RPC. The channel calls it once for each RPC, and again after a wait for
	// Choice.Later, before it looks at the RPC's options and interceptors. method is "/package.Service/Method", and md the
	// metadata that the RPC sends; it may be nil. Select must be safe for concurrent use. It must not block, and must not
	// call the resolver's ClientConn, nor ctx, which is the program's: the channel holds a lock.
	//
	// An error ends the RPC. It should be a status. A code that only a server's application may use
	// becomes Internal (gRFC A54).
	Select(ctx context.Context, method string, md *ctxkey.Outgoing) (Choice, error)
}

// Choice is the configuration that a Selector chose for an RPC. The zero value configures nothing.
type Choice struct {
	// Context is the context of the RPC. It must derive from Select's ctx, and may have values for
	// the balancer. Nil means Select's ctx.
	Context context.Context
	// Method replaces the service config's configuration of the method.
	Method serviceconfig.MethodConfig
	// Committed is called exactly once: when no further attempt of the RPC, and so no further pick,
	// will follow, and at the latest when the RPC ends, in whatever way. The caller may hold locks
	// of the RPC, so Committed must not block or use the RPC. It may be nil.
	Committed func()
	// Interceptor intercepts the RPC, after the channel's own interceptors. It may be nil.
	Interceptor Interceptor
	// Later is not nil if the Selector has nothing to choose from yet. It is closed once another
	// Selector is in use. An RPC that waits for ready ignores the Choice: it waits until Later is
	// closed, and then gets another Choice. LaterErr says what the RPC waits for.
	Later    <-chan struct{}
	LaterErr error
}

// Interceptor is a client's HTTP filter (gRFC A39), configured for one RPC.
type Interceptor interface {
	// Begin begins the RPC. It calls next once, with ctx or a context derived from it (see
	// RPC.Later), and returns next's results, or a stream that wraps next's. If it returns an error, which
	// should be a status, or a stream of its own instead, the RPC does not begin. A unary RPC appears as a
	// stream with one message in each direction. If next is called again, it fails.
	//
	// An Interceptor that fails although next has succeeded must end the context that it gave next: others
	// behind it may have announced with RPC.Later that they go on.
	Begin(ctx context.Context, rpc RPC, next Next) (Stream, error)
}

// Next begins the rest of an RPC: the Interceptors that follow, and the RPC itself.
type Next = func(context.Context) (Stream, error)

// RPC describes an RPC to an Interceptor.
type RPC struct {
	Method string // "/package.Service/Method"
	// ClientStreams says that the client may send several messages, and ServerStreams that the
	// server may.
	ClientStreams, ServerStreams bool
	// Held says that the program receives by callback (package experimental/streams): next's stream says when there is
	// something to receive, and a stream that the Interceptor wraps around it is not asked. An Interceptor that can't work
	// so fails.
	Held bool
	// Timeout is that of Choice.Method. The RPC ends by itself when it has passed since next was called; an Interceptor that
	// waits for something else bounds that wait. Nil means none.
	Timeout *time.Duration
	// Later announces, before Begin returns a stream, that the Interceptor will call next although it has not
	// called it yet. In place of next it must then call what Later returns, once and in any case: with a context
	// that has ended, if the RPC must not begin. When that call has returned an error, and the Interceptors in
	// front have nothing to decide any more, the RPC is over.
	//
	// Once Later was called, OnFinish functions of a streaming RPC run on a goroutine of their own: they may use the stream
	// while a method of it ends the RPC.
	Later func(next Next) Next
	// Cause returns a cause, for a context.CancelCauseFunc, with which an Interceptor ends the context that it gave next:
	// this RPC then ends with err, which is a status, in place of codes.Canceled.
	Cause func(err error) error
}

// credentialsKey is the context key of credentials that an Interceptor adds to an RPC.
type credentialsKey struct{}

// WithCredentials returns a context with which an Interceptor calls next. The RPC then uses c in
// addition to all other credentials, and fails with codes.Unauthenticated if the connection is not
// secure enough for c. A second WithCredentials replaces c.
func WithCredentials(ctx context.Context, c credentials.PerRPCCredentials) context.Context {
	return context.WithValue(ctx, credentialsKey{}, c)
}

// CredentialsOf returns the credentials that WithCredentials put into ctx, or nil if there are
// none.
func CredentialsOf(ctx context.Context) credentials.PerRPCCredentials {
	c, _ := ctx.Value(credentialsKey{}).(credentials.PerRPCCredentials)
	return c
}

// Stream has the methods of grpc.ClientStream, where they are documented.
type Stream interface {
	Header() (metadata.MD, error)
	Trailer() metadata.MD
	CloseSend() error
	Context() context.Context
	SendMsg(m any) error
	RecvMsg(m any) error
}

// selectorKey is the attribute key of the Selector in a resolver's state.
type selectorKey struct{}

// WithSelector returns s with a Selector, which configures RPCs once the channel has passed the
// state to its balancer. When UpdateState has returned, no call of the previous Selector is
// running, and none will begin: the resolver may then give up what only that Selector could choose.
//
// The channel compares Selectors with ==. Those that can't be compared count as different.
func WithSelector(s resolver.State, selector Selector) resolver.State {
	s.Attributes = s.Attributes.WithValue(selectorKey{}, selector)
	return s
}

// SelectorOf returns the Selector of a state, or nil if it has none.
func SelectorOf(s resolver.State) Selector {
	selector, _ := s.Attributes.Value(selectorKey{}).(Selector)
	return selector
}

// Chain combines several Interceptors into one. The first is the outermost. Chain returns nil if
// there are none.
func Chain(list ...Interceptor) Interceptor {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return chain(list)
}

type chain []Interceptor

// Begin implements Interceptor.
func (c chain) Begin(ctx context.Context, rpc RPC, next Next) (Stream, error) {
	for i := len(c) - 1; i > 0; i-- {
		after := next
		next = func(ctx context.Context) (Stream, error) { return c[i].Begin(ctx, rpc, after) }
	}
	return c[0].Begin(ctx, rpc, next)
}
