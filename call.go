// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/internal/channel"
	"google.golang.org/grpc/internal/retry"
	"google.golang.org/grpc/internal/telemetry"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// Invoke performs a unary RPC: it sends args, waits until the RPC is over, and decodes the
// response into reply. Generated code calls it. Every error has a status of package status.
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

// chainUnary combines interceptors into one function, or returns nil if there are none. All that
// differs between RPCs is in that function's arguments, so a channel builds it only once.
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

// unaryCall is a unary RPC. The application never sees it, so a pool reuses its memory.
type unaryCall struct {
	clientCall
	request transport.Call // clientCall.call points to it
	attempt attempt
	out     outMessage
	logged  bool         // the log has the message, which another attempt may send again
	all     []CallOption // buffer for the channel's options followed by the call's
}

var unaryCalls = sync.Pool{New: func() any { return new(unaryCall) }}

// invoke performs the RPC. The last interceptor calls it.
func invoke(ctx context.Context, method string, req, reply any, cc *ClientConn, opts ...CallOption) error {
	return unaryCalls.Get().(*unaryCall).invoke(ctx, cc, method, req, reply, opts)
}

// withDefaults puts the channel's options before opts. If there are both, the result is in memory
// that u uses again: no interceptor of the program may see it, as the interceptor could keep it.
func (u *unaryCall) withDefaults(cc *ClientConn, opts []CallOption) []CallOption {
	defaults := cc.opts.callOptions
	if len(defaults) == 0 || len(opts) == 0 {
		return cc.withDefaults(opts)
	}
	u.all = append(append(u.all[:0], defaults...), opts...)
	return u.all
}

// invoke performs the RPC. The caller must not use u afterwards.
func (u *unaryCall) invoke(ctx context.Context, cc *ClientConn, method string, req, reply any, opts []CallOption) error {
	u.call = &u.request
	choice, err := u.enter(ctx, cc, method, opts)
	if err == nil && choice.Interceptor != nil {
		return interceptUnary(u.clientCall, choice, req, reply)
	}
	var last *attempt
	if err == nil {
		last, err = u.run(&choice.Method, req, reply)
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

// run makes attempts, as config says, until one of them decides the RPC. It returns that attempt, or the last
// one, or nil if the RPC could not begin.
func (u *unaryCall) run(config *MethodConfig, req, reply any) (*attempt, error) {
	returned := false
	defer func() {
		if !returned {
			u.exited(&u.attempt)
		}
	}()
	err := u.begin(config)
	var last *attempt
	if err == nil {
		if u.cancel == nil && len(u.stats) > 0 { // what they do with the RPC's context ends with the RPC
			u.ctx, u.cancel = context.WithCancel(u.ctx)
		}
		last, err = u.attempts(req, reply)
	}
	returned = true
	return last, err
}

// attempts is run without the care for panics.
func (u *unaryCall) attempts(req, reply any) (*attempt, error) {
	var err error
	if u.hedging == nil && !u.tellsMessages() { // other hedges and stats handlers may use the message later
		u.writer.lend = lendAwhile
	}
	if u.out, err = u.writer.write(req); err != nil {
		return &u.attempt, u.giveUp(err)
	}
	// The message may have to be sent again: it is freed after the last attempt.
	defer u.out.payload.Data.Free()
	defer u.reclaim(false) // in case a stats handler or a codec of the program panics
	if u.hedged() {
		return runHedged(&u.clientCall, u.out, req, reply)
	}
	return &u.attempt, u.runInTurn(req, reply)
}

// hedged reports whether the RPC may have several attempts at a time. It may not if its message
// does not fit into the buffer for retries.
func (u *unaryCall) hedged() bool {
	return u.hedging != nil && keptSize(&u.out) <= u.info.retryBuffer
}

// runInTurn makes one attempt after the other.
func (u *unaryCall) runInTurn(req, reply any) error {
	var reached *transport.ClientStream // of the last attempt that reached a server; nil: none did
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
		if s := u.attempt.Stream; s != nil {
			reached = s
		} else if reached != nil { // call options tell of that one, but the log has nothing of an attempt that did not count
			u.attempt.Stream, u.attempt.superseded = reached, true
		}
		if !again.Retry {
			return again.Explain(err)
		}
		u.attempt.superseded = true
		if err := u.cc.channel.Pause(u.ctx, again.Delay); err != nil {
			return err
		}
	}
}

// reclaim takes back, after an attempt, the memory that the program lent for the message. If the
// message has to be sent again, reclaim replaces it by a copy.
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
// handlers see the same as for a stream whose message can't be encoded, and an error that every RPC
// to the server would get takes precedence over err.
func (u *unaryCall) giveUp(err error) error {
	a := &u.attempt
	if startErr := u.start(a, nil, false); startErr != nil && !a.Unsent() {
		err = startErr
	}
	a.Fail(err)
	u.end(a, err)
	return err
}

// try makes one attempt.
func (u *unaryCall) try(req, reply any) error {
	a := &u.attempt
	size := u.out.sizes()
	u.out.payload.Data.Ref()
	if err := u.start(a, &u.out.payload, true); err != nil {
		return err
	}
	u.tellSent(a, req, size)
	if !u.logged {
		u.logged = true
		u.logSent(size)
	}
	u.awaitIn(a)
	a.Stream.AwaitReply()
	return u.receive(a, reply)
}

// attempt is one try of an RPC: the channel's part of it, and what stats handlers, plugins and
// the log have been told. It has no messageReader, which is made for each message: a stream may
// wait for a long time without a message.
type attempt struct {
	channel.Attempt
	ctx          context.Context     // with the values that stats handlers and plugins added
	decompressor encoding.Compressor // of the last message; nil: none yet
	seen         telemetry.Attempt   // nil: no plugin looks at it
	begun        time.Time           // the BeginTime that stats handlers were told
	telling      sync.Mutex          // held while handlers are told of the response headers
	headerTold   atomic.Bool         // set with telling
	gotMessage   bool
	superseded   bool // another attempt was to follow, so its response is not the RPC's
	replySound   bool // the only reply can be decoded, or the end has come: see clientStream.arm
}

// result returns how the attempt's stream ended. nil stands for OK.
func (a *attempt) result() *status.Status { return a.Result(a.ctx) }

// Code returns the code of err.
//
// Deprecated: use status.Code.
func Code(err error) codes.Code { return status.Code(err) }

// ErrorDesc returns the message of err.
//
// Deprecated: use status.Convert and its Message.
func ErrorDesc(err error) string { return status.Convert(err).Message() }

// Errorf returns an error with a code and a message, or nil if the code is codes.OK.
//
// Deprecated: use status.Errorf.
func Errorf(c codes.Code, format string, a ...any) error { return status.Errorf(c, format, a...) }

// statusOf returns the status that a server sends when the application returns err.
func statusOf(err error) *status.Status {
	if st, ok := status.FromError(err); ok {
		return st
	}
	return status.FromContextError(err)
}

// statusError returns err, which is not nil, as an error that has a status.
func statusError(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.FromContextError(err).Err()
}
