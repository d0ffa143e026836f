// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/channel"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/status"
)

// intercepted is an RPC with an interceptor of its own.
type intercepted struct {
	cs     *clientStream
	choice rpcconfig.Choice
	later  bool // next is called after Begin
	begun  bool // next was called
	open   bool // it succeeded
}

// intercept begins an RPC through the interceptor that it was given.
func intercept(cs *clientStream, choice rpcconfig.Choice) (ClientStream, error) {
	in := &intercepted{cs: cs, choice: choice}
	rpc := rpcconfig.RPC{Method: cs.call.Method, ClientStreams: cs.desc.ClientStreams, ServerStreams: cs.desc.ServerStreams, Later: in.willBegin}
	st, err := choice.Interceptor.Begin(cs.ctx, rpc, in.next)
	switch {
	case err == nil && in.later:
	case !in.begun: // it answers by itself
		in.begun = true
		cs.clientCall.finish(nil, err)
	case in.open && err != nil:
		cs.abort(channel.AsStatus(err))
	}
	if err != nil {
		return nil, channel.AsStatus(err)
	}
	return st, nil
}

var errBegunTwice = status.Error(codes.Internal, "grpc: an interceptor of one RPC began it again")

func (in *intercepted) willBegin() { in.later = true }

// next begins the RPC itself.
func (in *intercepted) next(ctx context.Context) (rpcconfig.Stream, error) {
	if in.begun {
		return nil, errBegunTwice
	}
	in.begun = true
	in.cs.goOn(ctx)
	in.cs.info.identity.Added = rpcconfig.CredentialsOf(ctx)
	st, err := in.cs.open(&in.choice.Method)
	in.open = err == nil
	return st, err
}

// interceptUnary is the rest of invoke for an RPC, r, with an interceptor of its own, for which
// it is a stream.
func interceptUnary(r clientCall, choice rpcconfig.Choice, req, reply any) error {
	cs := &clientStream{clientCall: r}
	cs.desc = &StreamDesc{}
	st, err := intercept(cs, choice)
	if err != nil {
		return err
	}
	if err := st.SendMsg(req); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	err = st.RecvMsg(reply)
	cs.metadataOf(st)
	return err
}

// metadataOf has options store what the interceptor makes of the server's metadata, when the RPC
// is over.
func (cs *clientStream) metadataOf(st ClientStream) {
	for _, o := range cs.opts {
		switch o := o.(type) {
		case HeaderCallOption:
			if md, err := st.Header(); err == nil {
				*o.HeaderAddr = md
			}
		case TrailerCallOption:
			*o.TrailerAddr = st.Trailer()
		}
	}
}
