// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/internal/channel"
	"google.golang.org/grpc/internal/retry"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/telemetry"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// Invoke performs a unary RPC and returns when it is over: sends args, and decodes the
// response into reply. Generated code calls it. All errors are of package status.
func (cc *ClientConn) Invoke(ctx context.Context, method string, args, reply any, opts ...CallOption) error {
	if cc.opts.invoker != nil {
		return cc.opts.invoker(ctx, method, args, reply, cc, cc.withDefaults(opts)...)
	}
	u := unaryCalls.Get().(*unaryCall)
	return u.invoke(ctx, cc, method, args, reply, u.withDefaults(cc, opts))
}

// Invoke performs a unary RPC.
//
// Deprecated: use ClientConn.Invoke.
func Invoke(ctx context.Context, method string, args, reply any, cc *ClientConn, opts ...CallOption) error {
	return cc.Invoke(ctx, method, args, reply, opts...)
}

// chainUnary makes one function of the interceptors, nil if there are none. All that differs
// between RPCs is in the arguments, so that this is done once for each channel.
func chainUnary(interceptors []UnaryClientInterceptor) UnaryInvoker {
	if len(interceptors) == 0 {
		return nil
	}
	next := UnaryInvoker(invoke)
	for i := len(interceptors) - 1; i >= 0; i-- {
		interceptor, after := interceptors[i], next
		next = func(ctx context.Context, method string, req, reply any, cc *ClientConn, opts ...CallOption) error {
			return interceptor(ctx, method, req, reply, cc, after, opts...)
		}
	}
	return next
}

// unaryCall is a unary RPC. The application never sees it, so its memory is used again.
type unaryCall struct {
	clientCall
	request transport.Call // clientCall.call points to it
	attempt attempt
	out     outMessage
	all     []CallOption // room for the channel's options with those of the call
}

var unaryCalls = sync.Pool{New: func() any { return new(unaryCall) }}

// invoke is the RPC behind the interceptors.
func invoke(ctx context.Context, method string, req, reply any, cc *ClientConn, opts ...CallOption) error {
	return unaryCalls.Get().(*unaryCall).invoke(ctx, cc, method, req, reply, opts)
}

// withDefaults puts the channel's options in front, in memory of u where there are others: no
// interceptor of the program's is to see them, which could keep them.
func (u *unaryCall) withDefaults(cc *ClientConn, opts []CallOption) []CallOption {
	defaults := cc.opts.callOptions
	if len(defaults) == 0 || len(opts) == 0 {
		return cc.withDefaults(opts)
	}
	u.all = append(append(u.all[:0], defaults...), opts...)
	return u.all
}

// invoke is the RPC, and the last use of u.
func (u *unaryCall) invoke(ctx context.Context, cc *ClientConn, method string, req, reply any, opts []CallOption) error {
	u.call = &u.request
	choice, err := u.enter(ctx, cc, method, opts)
	if err == nil && choice.Interceptor != nil {
		return interceptUnary(u.clientCall, choice, req, reply)
	}
	if err == nil {
		err = u.begin(&choice.Method)
	}
	var last *attempt
	if err == nil {
		last, err = u.run(req, reply)
	}
	u.finish(last, err)
	auth, picked, all := u.request.Auth, u.request.Picked, u.all
	clear(auth)
	clear(picked)
	clear(all)
	*u = unaryCall{all: all[:0]}
	u.request.Auth, u.request.Picked = auth[:0], picked[:0]
	unaryCalls.Put(u)
	return err
}

// run makes attempts until one of them counts. It returns the last, or the one that counts.
func (u *unaryCall) run(req, reply any) (*attempt, error) {
	var err error
	if u.hedging == nil && !u.tellsMessages() { // else a stats handler may use the message again
		u.writer.lend = lendAwhile
	}
	if u.out, err = u.writer.write(req); err != nil {
		return &u.attempt, u.giveUp(err)
	}
	// The message may have to be sent again: it is freed after the last attempt.
	defer u.out.payload.Data.Free()
	defer u.reclaim(false) // where a stats handler or a codec of the program's panics
	if u.hedged() {
		return runHedged(&u.clientCall, u.out, req, reply)
	}
	return &u.attempt, u.runInTurn(req, reply)
}

// hedged reports whether the RPC may have several attempts at a time. One whose message
// doesn't fit into the buffer for retries has not.
func (u *unaryCall) hedged() bool {
	return u.hedging != nil && keptSize(&u.out) <= u.info.retryBuffer
}

// runInTurn makes one attempt after the other.
func (u *unaryCall) runInTurn(req, reply any) error {
	for {
		u.attempt = attempt{}
		err := u.try(req, reply)
		again := retry.Verdict{}
		if err != nil {
			again = u.judge(&u.attempt, err)
			if !again.Transparent && keptSize(&u.out) > u.info.retryBuffer {
				again.Retry = false
			}
		}
		u.reclaim(again.Retry)
		u.end(&u.attempt, err)
		if !again.Retry {
			return again.Explain(err)
		}
		if err := u.cc.channel.Pause(u.ctx, again.Delay); err != nil {
			return err
		}
	}
}

// reclaim gives back what the program has lent, after an attempt. If the message has to be sent again a
// copy is.
func (u *unaryCall) reclaim(again bool) {
	lent := u.out.payload.Lent
	if lent == nil {
		return
	}
	sent := u.out.payload.Data
	u.out.payload = transport.Payload{}
	if again {
		u.out.payload.Data = transport.OnePiece(mem.SliceBuffer(sent.Materialize()))
	}
	sent.Free()
	if s := u.attempt.Stream; s != nil {
		s.Reclaim(lent)
	} else {
		lent.Free()
	}
}

// giveUp begins an RPC whose request can't be encoded, and cancels it. So balancers and stats
// handlers see it as they see a stream whose message can't be encoded, and an error that all
// RPCs to the server would have comes before that of this one.
func (u *unaryCall) giveUp(err error) error {
	a := &u.attempt
	if startErr := u.start(a, nil, false); startErr != nil && !a.Unsent() {
		err = startErr
	}
	a.Fail(err)
	u.end(a, err)
	return err
}

// try is one attempt.
func (u *unaryCall) try(req, reply any) error {
	a := &u.attempt
	size := u.out.sizes()
	u.out.payload.Data.Ref()
	if err := u.start(a, &u.out.payload, true); err != nil {
		return err
	}
	u.tellSent(a, req, size)
	if !u.again.Retry {
		u.logSent(size)
	}
	u.awaitIn(a)
	a.Stream.AwaitReply()
	return u.receive(a, reply)
}

// attempt is one try of an RPC: the channel's part of it, and what those who watch the RPC
// have been told. There is no messageReader in it: one is made for each message, as a stream
// may wait for a long time without one.
type attempt struct {
	channel.Attempt
	ctx          context.Context     // with the values that stats handlers and plugins added
	decompressor encoding.Compressor // of the last message; nil: none yet
	seen         telemetry.Attempt   // nil: no plugin looks at it
	begun        time.Time           // when stats handlers were told
	headerTold   atomic.Bool
	gotMessage   bool
	replySound   bool // the one reply was looked at before its end had come
}

// result is how the attempt's stream ended; nil stands for OK.
func (a *attempt) result() *status.Status { return a.Result(a.ctx) }

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

// Code returns the code of err.
//
// Deprecated: use status.Code.
func Code(err error) codes.Code { return status.Code(err) }

// ErrorDesc returns the message of err.
//
// Deprecated: use status.Convert and its Message.
func ErrorDesc(err error) string { return status.Convert(err).Message() }

// Errorf returns an error with a code and a message; nil for codes.OK.
//
// Deprecated: use status.Errorf.
func Errorf(c codes.Code, format string, a ...any) error { return status.Errorf(c, format, a...) }

// statusOf is the status that is sent for an error of the application.
func statusOf(err error) *status.Status {
	if st, ok := status.FromError(err); ok {
		return st
	}
	return status.FromContextError(err)
}

// statusError is err, which is not nil, as an error that has a status.
func statusError(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.FromContextError(err).Err()
}
