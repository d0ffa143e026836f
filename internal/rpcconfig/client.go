// SPDX-License-Identifier: Apache-2.0

// Package rpcconfig has the interfaces through which single RPCs are configured, where the
// method's name alone does not decide.
//
// On the client a resolver configures them (gRFC A31): it puts a [Selector] into its state
// with [WithSelector], and the channel asks it once for each RPC. On the server the listener
// does (gRFC A36): a server option brings a [Source], which gives each connection a
// [Router], and the server asks that once for each RPC.
//
// The package holds the types only. Where nothing of it is set, RPCs pay nothing for it.
package rpcconfig

import (
	"context"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
)

// Selector chooses the configuration of each RPC of a channel. The channel uses it for as
// long as the state that it came with is the resolver's last one.
type Selector interface {
	// Select is called once for each RPC, but for those that wait (Choice.Later), before its options and interceptors of its
	// own are looked at; method is "/package.Service/Method", and ctx holds the metadata
	// that the RPC is to send. Any number of calls run at once. It must not block, and
	// must not call the resolver's ClientConn.
	//
	// An error ends the RPC. It should be a status; one that only a server's application
	// may use becomes Internal (gRFC A54).
	Select(ctx context.Context, method string) (Choice, error)
}

// Choice is what a Selector says of an RPC. The zero value is an RPC for which nothing is
// configured.
type Choice struct {
	// Context is the context of the RPC, which derives from the one that Select was
	// given: the balancer finds in it what is meant for it. nil stands for that one.
	Context context.Context
	// Method stands in for what the service config says of the method.
	Method serviceconfig.MethodConfig
	// Committed is called exactly once: when no further attempt of the RPC will be made,
	// and so nothing more be picked, and at the latest when the RPC ends, however it does.
	// It must not block nor use the RPC: locks of the RPC's may be held. May be nil.
	Committed func()
	// Interceptor stands around the RPC, inside the channel's own. May be nil.
	Interceptor Interceptor
	// Later, unless it is nil, says that there is nothing to choose from: it is closed once another
	// Selector is in use. An RPC that waits for ready does not go by the Choice: it waits for that,
	// and another Choice is made for it. LaterErr says what it waits for.
	Later    <-chan struct{}
	LaterErr error
}

// Interceptor is a client's HTTP filter (gRFC A39), configured for one RPC.
type Interceptor interface {
	// Begin begins the RPC: it calls next, once, with ctx or a context derived from it (see
	// RPC.Later), and returns what that does or a stream that wraps it; or it returns an error, which
	// should be a status, and there is no RPC. A unary RPC is to it a stream of one
	// message each way. next fails if it is called again.
	Begin(ctx context.Context, rpc RPC, next func(context.Context) (Stream, error)) (Stream, error)
}

// RPC is what an Interceptor is told of an RPC.
type RPC struct {
	Method string // "/package.Service/Method"
	// These say who may send more than one message.
	ClientStreams, ServerStreams bool
	// Later, called before Begin returns a stream, says that next will be called afterwards, in
	// any case: with a context that is over, if the RPC is not to begin.
	Later func()
}

// credentialsKey is where the context of an RPC has credentials of its Interceptors.
type credentialsKey struct{}

// WithCredentials returns a context with which an Interceptor calls next: the RPC carries c too,
// beside all other credentials, and fails with codes.Unauthenticated on a connection that is not
// secure enough for it. Of several the last counts.
func WithCredentials(ctx context.Context, c credentials.PerRPCCredentials) context.Context {
	return context.WithValue(ctx, credentialsKey{}, c)
}

// CredentialsOf returns what WithCredentials was given, nil if nothing.
func CredentialsOf(ctx context.Context) credentials.PerRPCCredentials {
	c, _ := ctx.Value(credentialsKey{}).(credentials.PerRPCCredentials)
	return c
}

// Stream has the methods of grpc.ClientStream, which says what they do.
type Stream interface {
	Header() (metadata.MD, error)
	Trailer() metadata.MD
	CloseSend() error
	Context() context.Context
	SendMsg(m any) error
	RecvMsg(m any) error
}

// selectorKey is where a resolver's state has its Selector.
type selectorKey struct{}

// WithSelector returns s with the Selector that configures RPCs once the channel's balancer
// has taken the state. When UpdateState returns, no call of the Selector before it runs any
// more, nor will one: what only that one could choose may then be given up.
//
// Selectors are compared with ==, unless they can't be.
func WithSelector(s resolver.State, selector Selector) resolver.State {
	s.Attributes = s.Attributes.WithValue(selectorKey{}, selector)
	return s
}

// SelectorOf returns the Selector of a state, nil if it has none.
func SelectorOf(s resolver.State) Selector {
	selector, _ := s.Attributes.Value(selectorKey{}).(Selector)
	return selector
}

// Chain makes one Interceptor of several, nil of none. The first is the outermost.
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
func (c chain) Begin(ctx context.Context, rpc RPC, next func(context.Context) (Stream, error)) (Stream, error) {
	for i := len(c) - 1; i > 0; i-- {
		after := next
		next = func(ctx context.Context) (Stream, error) { return c[i].Begin(ctx, rpc, after) }
	}
	return c[0].Begin(ctx, rpc, next)
}
