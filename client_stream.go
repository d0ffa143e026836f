// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/channel"
	"google.golang.org/grpc/internal/retry"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// clientStream is a streaming RPC. Until it is committed to an attempt it keeps what was
// sent, to send it again.
//
// A goroutine may hold mu for long, while a retry waits or begins, but not beyond the end of
// ctx. mu is locked before the transport's locks.
type clientStream struct {
	clientCall

	own       streamContext // clientCall.ctx points to it
	stopWatch func() bool   // keeps contextDone from being called; nil if own.parent never ends
	hedges    *hedges       // immutable; nil: attempts are made in turn
	// intercepted is immutable; nil: no Selector has chosen an interceptor.
	intercepted *intercepted

	// ending is held from when the RPC is marked as finished until settle has told everybody but the
	// OnFinish functions. The goroutine that marks the RPC locks it while it holds mu; the one that calls
	// settle, mostly the same, unlocks it. Any other goroutine that locks ending only waits, and must not hold mu.
	ending    sync.Mutex
	mu        sync.Mutex
	attempt   *attempt
	sentLast  bool // owned by the sender
	sentFirst bool // owned by the sender: a message was given to SendMsg
	last      lastAttempt
	finished  bool
	replay    retry.Replay[sentMessage]
	// lost is how the RPC ended, if it ended because another attempt was not made or failed.
	lost    error
	failed  error // the error that it was finished with; nil for success
	context *clientContext

	apart   atomic.Bool              // the OnFinish functions run on a goroutine of their own
	aborted atomic.Pointer[abortion] // set before own is cancelled

	next, prev *clientStream // in the channel's list, whose lock guards them
}

// lastAttempt records that the stream makes no other attempt. The sender and the receiver each have
// a flag of their own, which they read without mu.
type lastAttempt struct {
	sends    bool // owned by the sender
	receives bool // owned by the receiver
}

// NewStream begins a streaming RPC. Generated code calls it. Every error has a status of package
// status. [ClientStream] says what the caller must do so that the stream does not hold resources
// for ever.
func (cc *ClientConn) NewStream(ctx context.Context, desc *StreamDesc, method string, opts ...CallOption) (ClientStream, error) {
	opts = cc.withDefaults(opts)
	if cc.opts.streamer != nil {
		return cc.opts.streamer(ctx, desc, cc, method, opts...)
	}
	return newStream(ctx, desc, cc, method, opts...)
}

// NewClientStream begins a streaming RPC.
//
// Deprecated: use ClientConn.NewStream.
func NewClientStream(ctx context.Context, desc *StreamDesc, cc *ClientConn, method string, opts ...CallOption) (ClientStream, error) {
	return cc.NewStream(ctx, desc, method, opts...)
}

// chainStream combines interceptors into one function, or returns nil if there are none.
func chainStream(interceptors []StreamClientInterceptor) Streamer {
	if len(interceptors) == 0 {
		return nil
	}
	next := Streamer(newStream)
	for i := len(interceptors) - 1; i >= 0; i-- {
		interceptor, after := interceptors[i], next
		next = func(ctx context.Context, desc *StreamDesc, cc *ClientConn, method string, opts ...CallOption) (ClientStream, error) {
			return interceptor(ctx, desc, cc, method, after, opts...)
		}
	}
	return next
}

// newStream begins the RPC. The last interceptor calls it.
func newStream(ctx context.Context, desc *StreamDesc, cc *ClientConn, method string, opts ...CallOption) (ClientStream, error) {
	cs := &clientStream{}
	cs.desc, cs.call = desc, new(transport.Call)
	choice, err := cs.enter(ctx, cc, method, opts)
	switch {
	case err != nil:
		cs.clientCall.finish(nil, err)
		return nil, err
	case choice.Interceptor != nil:
		return newIntercepted(cs, choice).begin(cs.ctx)
	}
	return cs.open(&choice.Method)
}

// newLinkStream begins an RPC on the connection l. The RPC is not retried.
func newLinkStream(ctx context.Context, cc *ClientConn, l *channel.Link, desc *StreamDesc, method string, opts ...CallOption) (ClientStream, error) {
	cs := &clientStream{}
	cs.desc, cs.call, cs.fixed = desc, new(transport.Call), l
	cs.replay.Commit()
	if _, err := cs.enter(ctx, cc, method, opts); err != nil {
		cs.clientCall.finish(nil, err)
		return nil, err
	}
	return cs.open(&MethodConfig{})
}

// open begins an RPC for which enter has been called.
func (cs *clientStream) open(config *MethodConfig) (ClientStream, error) {
	if err := cs.beginAttempts(config); err != nil {
		defer cs.cancelOwn() // also if an OnFinish function panics
		if cs.own.parent != nil {
			err = cs.intercepted.insteadOf(cs.own.parent, err)
		}
		cs.finishUnbegun(cs.attempt, err)
		return nil, err
	}
	cs.own.begin()
	if !cs.cc.streams.add(cs) {
		cs.abort(ErrClientConnClosing)
		return nil, ErrClientConnClosing
	}
	cs.tellBegun() // not earlier: another goroutine may use the stream from now on
	if cs.own.parent.Done() == nil {
		return cs, nil
	}
	stop := context.AfterFunc(cs.own.parent, cs.contextDone)
	cs.mu.Lock()
	cs.stopWatch = stop
	if cs.finished { // the RPC finished before stopWatch was set
		stop()
	}
	cs.mu.Unlock()
	return cs, nil
}

// beginAttempts begins the RPC and its attempts, and returns when one of them is on its way.
func (cs *clientStream) beginAttempts(config *MethodConfig) error {
	returned := false
	defer func() {
		if !returned {
			defer cs.cancelOwn()
			defer cs.finishUnbegun(cs.attempt, errUnreturned) // also if a stats handler panics again
			cs.endExited(cs.attempt)
		}
	}()
	err := cs.begin(config)
	if err == nil {
		cs.own.parent = cs.ctx
		cs.ctx = &cs.own
		cs.own.begun = cs.hedging != nil    // a hedge may end another one that still waits
		cs.call.Watched = cs.hedging == nil // contextDone watches the context
		err = cs.attempts()
	}
	returned = true
	return err
}

// cancelOwn cancels own, if the RPC has got so far that it has one.
func (cs *clientStream) cancelOwn() {
	if cs.own.parent != nil {
		cs.own.cancel()
	}
}

// attempts is beginAttempts without begin and the care for panics.
func (cs *clientStream) attempts() error {
	if cs.hedging != nil && !cs.isHeld() {
		return hedgeStream(cs)
	}
	return cs.firstAttempt()
}

// firstAttempt makes attempts until one of them is on its way.
func (cs *clientStream) firstAttempt() error {
	for {
		cs.attempt = &attempt{}
		err := cs.start(cs.attempt, nil, false)
		if err == nil {
			return nil
		}
		v := cs.judge(cs.attempt, err)
		cs.end(cs.attempt, err)
		if !v.Retry {
			return v.Explain(err)
		}
		if err := cs.cc.channel.Pause(cs.ctx, v.Delay); err != nil {
			return err
		}
	}
}

// current returns the attempt that counts at present: the latest, or a hedged RPC's winner.
func (cs *clientStream) current() *attempt {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.attempt
}

// target returns the current attempt to the sender. keep reports whether there may be another attempt.
func (cs *clientStream) target() (a *attempt, keep bool) {
	if !cs.last.sends {
		cs.mu.Lock()
		defer cs.mu.Unlock()
		cs.last.sends = cs.replay.Committed()
	}
	return cs.attempt, !cs.last.sends
}

// source returns the current attempt to the receiver.
func (cs *clientStream) source() *attempt {
	if cs.last.receives {
		return cs.attempt
	}
	return cs.current()
}

var errSentLast = status.Error(codes.Internal, "SendMsg called after CloseSend")

// SendMsg implements ClientStream.
func (cs *clientStream) SendMsg(m any) error {
	if cs.sentLast {
		_ = cs.finish(errSentLast) // the server need not go on
		return errSentLast
	}
	switch err := cs.cancelled(); {
	case err == nil:
	case cs.desc.ClientStreams:
		return io.EOF
	default:
		return err
	}
	w := cs.writer // a copy: a hedge that begins may copy the stream's
	if _, keep := cs.target(); !keep && cs.hedges == nil && !cs.isHeld() {
		w.lend = lendAwhile
	}
	out, err := w.write(m)
	if err != nil {
		_ = cs.finish(err)
		return err
	}
	if cs.desc.ClientStreams {
		first := !cs.sentFirst
		cs.sentFirst = true
		if err := cs.send(m, out); err != nil && !(first && cs.endUnseen()) {
			return err
		}
		return nil
	}
	// This was the only message, so RecvMsg returns the error of sending it.
	cs.sentLast = true
	_ = cs.send(m, out)
	return nil
}

// endUnseen reports whether the program has not been told yet that the RPC is over. SendMsg then
// accepts the first message as if it had been sent. The headers are sent when the stream is made,
// so a server that refuses streams without reading them may answer before the program calls
// SendMsg. Programs that make a stream and send its one message look for the status in RecvMsg,
// and don't expect io.EOF from SendMsg.
func (cs *clientStream) endUnseen() bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return !cs.finished
}

// send sends out, which it owns, and keeps it for other attempts.
func (cs *clientStream) send(msg any, out outMessage) error {
	size := out.sizes()
	if cs.hedges != nil && cs.hedges.send(msg, out) {
		cs.logSent(size)
		return nil
	}
	for {
		a, keep := cs.target()
		if a.Stream == nil { // the RPC was hedged, and no attempt has opened a stream
			out.payload.Data.Free()
			return io.EOF
		}
		if keep {
			out.payload.Data.Ref()
		}
		err := a.Stream.Send(out.payload, !cs.desc.ClientStreams)
		switch {
		case err == nil && (!keep || cs.keep(a, sentMessage{out: out, msg: msg})):
			cs.tellSent(a, msg, size)
			cs.logSent(size)
			cs.tryTellIn(a)
			return nil
		case err == nil:
			continue // there is another attempt by now, which needs the message too
		case !keep:
			return err
		}
		// The connection may report that the stream is over before the stream does: wait for that.
		_ = a.Stream.Header()
		if err = a.result().Err(); err == nil || cs.tryAgain(a, err) != nil {
			out.payload.Data.Free()
			return io.EOF
		}
	}
}

// CloseSend implements ClientStream.
func (cs *clientStream) CloseSend() error {
	if cs.cancelled() != nil || cs.sentLast { // RecvMsg says how the RPC ended
		return nil
	}
	cs.sentLast = true
	if cs.log != nil && cs.endUnseen() { // nothing but a cancellation follows the end in the log
		cs.log.HalfClose()
	}
	if cs.hedges != nil && cs.hedges.closeSend() {
		return nil
	}
	for {
		a, keep := cs.target()
		if a.Stream == nil {
			return nil
		}
		_ = a.Stream.CloseSend() // the receiver will find out
		cs.tryTellIn(a)
		if !keep || cs.keepEnd(a) {
			return nil
		}
	}
}

// RecvMsg implements ClientStream.
func (cs *clientStream) RecvMsg(m any) error {
	_ = cs.cancelled() // nothing else will come, but what has come can be taken
	if err := cs.awaitHedges(); err != nil {
		return cs.finish(err)
	}
	for {
		a := cs.source()
		err := cs.receiveFrom(a, m)
		switch {
		case err == nil && cs.desc.ServerStreams && cs.last.receives:
			return nil
		case err == nil && cs.desc.ServerStreams:
			cs.commit()
			cs.last.receives = true
			return nil
		case err == nil:
			return cs.finish(nil)
		case err != io.EOF && !a.gotMessage:
			if err = cs.tryAgain(a, err); err == nil {
				continue
			}
		}
		return cs.finish(err)
	}
}

// awaitHedges waits until there is an attempt that counts. An error is the one that the RPC ended
// with.
func (cs *clientStream) awaitHedges() error {
	if cs.hedges == nil {
		return nil
	}
	return cs.hedges.await()
}

// receiveFrom takes the next message of an attempt. It returns io.EOF when the attempt has ended with
// success.
func (cs *clientStream) receiveFrom(a *attempt, m any) error {
	cs.awaitIn(a)
	msg, err := cs.recv(a)
	if err != nil && err != io.EOF {
		return err
	}
	if err != nil {
		switch st := a.result(); {
		case st != nil:
			return st.Err()
		case !cs.desc.ServerStreams && !a.gotMessage:
			return errNoReply
		}
		return io.EOF
	}
	if err := cs.decode(a, msg, m); err != nil {
		a.Fail(err)
		return err
	}
	if cs.desc.ServerStreams {
		return nil
	}
	return expectEnd(a)
}

// Header implements ClientStream.
func (cs *clientStream) Header() (metadata.MD, error) {
	if err := cs.awaitHedges(); err != nil {
		_ = cs.finish(err)
		return nil, nil
	}
	for {
		a := cs.current()
		md := a.Stream.Header()
		if a.Stream.GotHeaders() {
			cs.tellIn(a)
			cs.commit()
			return md, nil
		}
		err := a.result().Err()
		if err != nil {
			if err = cs.tryAgain(a, err); err == nil {
				continue
			}
		} else if !cs.desc.ServerStreams {
			err = errNoReply
		}
		_ = cs.finish(err) // no message will come
		return nil, nil
	}
}

// Trailer implements ClientStream.
func (cs *clientStream) Trailer() metadata.MD {
	if s := cs.current().Stream; s != nil {
		return s.Trailer()
	}
	return metadata.MD{} // the RPC was hedged, and no attempt has opened a stream
}

// Context implements ClientStream.
func (cs *clientStream) Context() context.Context {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.hedges != nil && (!cs.replay.Committed() || cs.attempt.Stream == nil) {
		return &clientContext{Context: cs.ctx, stream: cs} // the server is not known yet
	}
	if !cs.replay.Committed() {
		cs.commitLocked()
	}
	if cs.context == nil {
		cs.context = &clientContext{cs.attempt.ctx, cs, cs.attempt.Stream.Client()}
	}
	return cs.context
}

// Format implements fmt.Formatter. It prints the type and the address alone: the contents include
// credentials and metadata, and other goroutines write to them.
func (cs *clientStream) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "(*grpc.clientStream)(%p)", cs)
}
