// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"cmp"
	"context"
	"io"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/channel"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/status"
)

// intercepted is an RPC for which the Selector chose an interceptor.
type intercepted struct {
	cs     *clientStream
	choice rpcconfig.Choice
	unary  bool
	open   bool // next succeeded; written before the call of next that is counted settles

	mu      sync.Mutex
	pending int   // calls that may still begin the RPC: Begin, and those that Later has announced
	begun   bool  // next was called, or will not be
	err     error // the first error of the calls
}

func newIntercepted(cs *clientStream, choice rpcconfig.Choice) *intercepted {
	in := &intercepted{cs: cs, choice: choice, pending: 1}
	cs.intercepted = in
	return in
}

// ending is the cause with which an interceptor ends the context of an RPC. Contexts of other RPCs may be made of that.
type ending struct {
	of *intercepted
	error
}

// cause implements rpcconfig.RPC.Cause.
func (in *intercepted) cause(err error) error { return ending{in, err} }

// endOf returns the status with which an interceptor has ended ctx, which is the RPC's, and otherwise nil. in may be nil.
func (in *intercepted) endOf(ctx context.Context) error {
	if in == nil {
		return nil
	}
	if end, ok := context.Cause(ctx).(ending); ok && end.of == in {
		return end.error
	}
	return nil
}

// insteadOf returns endOf, if there is such a status and err only says that ctx has ended, and otherwise err.
func (in *intercepted) insteadOf(ctx context.Context, err error) error {
	if in == nil || status.Code(err) != codes.Canceled {
		return err
	}
	return cmp.Or(in.endOf(ctx), err)
}

// begin begins the RPC, whose context is ctx, through the interceptor.
func (in *intercepted) begin(ctx context.Context) (st ClientStream, err error) {
	if rpcconfig.CredentialsOf(ctx) != nil { // those of another RPC, whose stream has this context
		ctx = rpcconfig.WithCredentials(ctx, nil)
	}
	err = errUnreturned
	defer func() { in.settle(err) }() // also if code of the program that the interceptor calls panics
	cs := in.cs
	st, err = in.choice.Interceptor.Begin(ctx, rpcconfig.RPC{
		Method:        cs.call.Method,
		ClientStreams: cs.desc.ClientStreams,
		ServerStreams: cs.desc.ServerStreams,
		Held:          cs.isHeld(),
		Timeout:       in.choice.Method.Timeout,
		Later:         in.later,
		Cause:         in.cause,
	}, in.next)
	if err != nil {
		return nil, channel.AsStatus(err)
	}
	return st, nil
}

// later implements rpcconfig.RPC.Later. The program may have the stream before what it returns is called, and its OnFinish
// functions may use the stream, which waits for the interceptor: so the interceptor must not wait for them.
func (in *intercepted) later(next rpcconfig.Next) rpcconfig.Next {
	in.cs.apart.Store(!in.unary)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.pending++
	return func(ctx context.Context) (st rpcconfig.Stream, err error) {
		err = errUnreturned
		defer func() { in.settle(err) }()
		st, err = next(ctx)
		return st, in.insteadOf(ctx, channel.AsStatus(err))
	}
}

// settle is called when one of the pending calls has returned. After the last of them it ends the RPC if an
// interceptor answers it, or if one has failed since the RPC began.
func (in *intercepted) settle(err error) {
	in.mu.Lock()
	in.pending--
	if in.err == nil {
		in.err = err
	}
	last, begun := in.pending == 0, in.begun
	in.begun = in.begun || last
	err = in.err
	in.mu.Unlock()
	switch {
	case !last:
	case !begun:
		in.cs.finishUnbegun(nil, err)
	case in.open && err != nil:
		in.cs.abort(channel.AsStatus(err))
	}
}

var errBegunTwice = status.Error(codes.Internal, "grpc: an interceptor of one RPC began it again")

// next begins the RPC itself, unless an interceptor in front has ended its context.
func (in *intercepted) next(ctx context.Context) (rpcconfig.Stream, error) {
	if err := ctx.Err(); err != nil {
		return nil, in.insteadOf(ctx, status.FromContextError(err).Err())
	}
	in.mu.Lock()
	begun := in.begun
	in.begun = true
	in.mu.Unlock()
	if begun {
		return nil, errBegunTwice
	}
	in.cs.goOn(ctx)
	in.cs.info.identity.Added = rpcconfig.CredentialsOf(ctx)
	st, err := in.cs.open(&in.choice.Method)
	in.open = err == nil
	return st, err
}

// abort ends an RPC that the program has left, if it has begun.
func (in *intercepted) abort() {
	in.mu.Lock()
	open := in.pending == 0 && in.open
	in.mu.Unlock()
	if open {
		in.cs.abort(errUnreturned)
	}
}

// interceptUnary is the rest of invoke for an RPC, r, with an interceptor that the Selector chose.
// The interceptor sees the RPC as a stream.
func interceptUnary(r clientCall, choice rpcconfig.Choice, req, reply any) error {
	cs := &clientStream{clientCall: r}
	cs.desc = &StreamDesc{}
	in := newIntercepted(cs, choice)
	in.unary = true
	ctx, end := context.WithCancelCause(cs.ctx)
	returned := false
	defer func() {
		if returned {
			end(nil)
			return
		}
		// Code of the program has left, which may be recovered above. The RPC may still be about to begin.
		end(in.cause(errUnreturned))
		in.abort()
	}()
	st, err := in.begin(ctx)
	if err == nil {
		err = cs.exchange(st, req, reply)
	}
	returned = true
	return err
}

// exchange sends the message of a unary RPC on st, and receives the reply.
func (cs *clientStream) exchange(st ClientStream, req, reply any) error {
	err := st.SendMsg(req)
	if err != nil && err != io.EOF {
		return err
	}
	if err = st.RecvMsg(reply); err == io.EOF { // the end of a stream is no status
		err = errNoReply
	}
	cs.metadataOf(st)
	return err
}

// metadataOf stores the metadata of st, which the interceptor may have changed, where the options
// Header and Trailer point. The RPC must be over.
func (cs *clientStream) metadataOf(st ClientStream) {
	for _, o := range cs.opts {
		switch o := o.(type) {
		case HeaderCallOption:
			*o.HeaderAddr, _ = st.Header()
		case TrailerCallOption:
			*o.TrailerAddr = st.Trailer()
		}
	}
}
