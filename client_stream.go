// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/retry"
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
	hedges    streamHedges  // immutable; nil: attempts are made in turn

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

	next, prev *clientStream // in the channel's list, whose lock guards them
}

// lastAttempt records that the stream makes no other attempt. The sender and the receiver each have
// a flag of their own, which they read without mu.
type lastAttempt struct {
	sends    bool // owned by the sender
	receives bool // owned by the receiver
}

// commitLocked rules out another attempt, and frees what that would need.
func (cs *clientStream) commitLocked() {
	cs.tellCommit()
	cs.call = nil
	for _, m := range cs.replay.Commit() {
		m.out.payload.Data.Free()
	}
}

func (cs *clientStream) commit() {
	cs.mu.Lock()
	if !cs.replay.Committed() {
		cs.commitLocked()
	}
	cs.mu.Unlock()
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

// tryAgain is called when attempt a failed with err. It returns nil if there now is another attempt,
// which has been sent everything that a was sent. Otherwise it returns the error that the RPC ends
// with: err, the error of a later attempt, or that of the wait for one.
func (cs *clientStream) tryAgain(a *attempt, err error) error {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	switch {
	case cs.attempt != a:
		return nil // another goroutine has made it
	case cs.lost != nil:
		return cs.lost
	case cs.replay.Committed():
		return err
	}
	v := cs.judge(a, err)
	if !v.Retry {
		cs.commitLocked()
		if v.Exhausted > 0 {
			cs.lost = v.Explain(err)
			return cs.lost
		}
		return err
	}
	for v.Retry {
		cs.end(a, err)
		if err = cs.cc.channel.Pause(cs.ctx, v.Delay); err != nil {
			break
		}
		a = &attempt{}
		if err = cs.start(a, nil, false); err == nil {
			cs.replaceLocked(a)
			return nil
		}
		v = cs.judge(a, err)
	}
	err = v.Explain(err)
	cs.end(a, err)
	cs.lost = err
	cs.commitLocked()
	return err
}

// replaceLocked makes a the attempt that counts, and sends it what the previous one was sent.
func (cs *clientStream) replaceLocked(a *attempt) {
	cs.attempt = a
	i, n := 0, cs.replay.Messages()
	for m := range cs.keptLocked() {
		m.out.payload.Data.Ref()
		i++
		last := !cs.desc.ClientStreams || cs.replay.Ended() && i == n
		// Enqueue does not wait for room: that may depend on the receiver, which waits
		// for mu. The size of what is kept is bounded.
		if a.Stream.Enqueue(m.out.payload, last) != nil {
			return // the attempt is over, as the receiver will find out
		}
		cs.tellSent(a, m.msg, m.out.sizes())
	}
	if cs.replay.Ended() && n == 0 {
		_ = a.Stream.CloseSend() // the receiver will find out
	}
}

var errSentLast = status.Error(codes.Internal, "SendMsg called after CloseSend")

// SendMsg implements ClientStream.
func (cs *clientStream) SendMsg(m any) error {
	if cs.sentLast {
		cs.finish(errSentLast) // the server need not go on
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
		cs.finish(err)
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

// keep takes over a message that a was sent, and keeps it for other attempts. If a is no longer
// the attempt that counts, keep returns false and does not take the message over.
func (cs *clientStream) keep(a *attempt, m sentMessage) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.attempt != a {
		return false
	}
	if cs.replay.Committed() {
		m.out.payload.Data.Free()
		return true
	}
	if !cs.keepLocked(m) {
		cs.commitLocked()
	}
	return true
}

// CloseSend implements ClientStream.
func (cs *clientStream) CloseSend() error {
	if err := cs.cancelled(); err != nil {
		return err
	}
	if cs.sentLast {
		return nil
	}
	cs.sentLast = true
	cs.log.HalfClose()
	if cs.hedges != nil && cs.hedges.closeSend() {
		return nil
	}
	for {
		a, keep := cs.target()
		if a.Stream == nil {
			return nil
		}
		_ = a.Stream.CloseSend() // the receiver will find out
		if !keep || cs.keepEnd(a) {
			return nil
		}
	}
}

// keepEnd is like keep, for the end of what is sent.
func (cs *clientStream) keepEnd(a *attempt) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.attempt != a {
		return false
	}
	cs.replay.KeepEnd()
	return true
}

// RecvMsg implements ClientStream.
func (cs *clientStream) RecvMsg(m any) error {
	if err := cs.cancelled(); err != nil {
		return err
	}
	if err := cs.awaitHedges(); err != nil {
		cs.finish(err)
		return err
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
			cs.finish(nil)
			return nil
		case !errors.Is(err, io.EOF) && !a.gotMessage:
			if err = cs.tryAgain(a, err); err == nil {
				continue
			}
		}
		cs.finish(err)
		return err
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
	msg, err := a.Stream.Recv()
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
		cs.finish(err)
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
			cs.finish(err)
		}
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
