// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"slices"

	"google.golang.org/grpc/internal/handover"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/status"
)

// heldOption is an option of package experimental/streams. It is given the stream once messages
// can be sent on it, and knows the type of the messages that the stream receives.
type heldOption interface {
	StreamBegun(handover.Client)
	NewMessage() any
}

// tellBegun gives the stream to its heldOptions.
func (cs *clientStream) tellBegun() {
	for _, o := range cs.opts {
		if h, ok := o.(heldOption); ok {
			cs.apart.Store(true) // who ends the RPC may hold the owner's lock, which OnFinish functions may wait for
			h.StreamBegun((*heldStream)(cs))
		}
	}
}

// isHeld reports whether the stream is received from by callback, without a goroutine that waits.
func (cs *clientStream) isHeld() bool {
	return slices.ContainsFunc(cs.opts, func(o CallOption) bool {
		_, held := o.(heldOption)
		return held
	})
}

// heldStream is a clientStream for a receiver without a goroutine.
type heldStream clientStream

var _ handover.Client = (*heldStream)(nil)

// Arm implements handover.Client.
func (h *heldStream) Arm(w handover.Waker) handover.Events {
	cs := (*clientStream)(h)
	for {
		a := cs.current()
		if !cs.arm(a, w) {
			return 0
		}
		if !a.Stream.Empty() || a.gotMessage {
			return handover.Input
		}
		if err := a.result().Err(); err == nil || cs.tryAgain(a, err) != nil {
			return handover.Input // RecvMsg will find the same end
		}
	}
}

// arm reports whether receiving from a would not wait; otherwise w is woken when that changes. If the
// server does not stream, receiving would not wait once its only reply and its status have come, or as soon as
// there is a reply that fails the RPC whatever follows.
func (cs *clientStream) arm(a *attempt, w handover.Waker) bool {
	if cs.desc.ServerStreams || a.replySound {
		return a.Stream.Arm(w, cs.desc.ServerStreams)
	}
	if !a.Stream.ArmReply(w) {
		return false
	}
	m, early := a.Stream.EarlyReply()
	if early && !cs.isSound(a, m) {
		return true
	}
	a.replySound = true
	return a.Stream.Arm(w, false)
}

// isSound reports whether a reply can be decoded. It takes over m.
func (cs *clientStream) isSound(a *attempt, m transport.Message) bool {
	for _, o := range cs.opts {
		if h, ok := o.(heldOption); ok {
			if cs.info.refuses(a.Stream.RecvCompress()) != nil {
				m.Data.Free()
				return false
			}
			r := cs.reader(a, m)
			r.keep = false
			_, err := r.read(m, h.NewMessage())
			return err == nil
		}
	}
	m.Data.Free()
	return true // RecvMsg will tell
}

// ArmRoom implements handover.Client.
func (h *heldStream) ArmRoom(w handover.Waker) bool {
	return (*clientStream)(h).current().Stream.ArmRoom(w)
}

// Kind implements handover.Encoder.
func (h *heldStream) Kind() handover.Kind {
	return kindOf(h.writer.codec, h.writer.compressor, h.writer.keep)
}

// IsKind implements handover.Encoder.
func (h *heldStream) IsKind(k *handover.Kind) bool {
	return isKind(k, h.writer.codec, h.writer.compressor, h.writer.keep)
}

// Prepare implements handover.Encoder.
func (h *heldStream) Prepare(msg any) (any, error) { return prepare(&h.writer, msg) }

// Fail implements handover.Client.
func (h *heldStream) Fail(err error) { (*clientStream)(h).abort(err) }

// leave is called when a handler that has handed its stream over returns err. From then on the call
// belongs to the owner, even if err has failed it.
func (ss *serverStream) leave(err error) {
	if err != nil {
		_ = ss.call.fail(err) // the owner finds out
	}
	ss.call.Owner().HandlerReturned()
}

// exited is called when a handler has not returned, but called runtime.Goexit or panicked.
func (ss *serverStream) exited() {
	if ss.call.Owner() != nil {
		ss.leave(errExited)
		return
	}
	defer ss.server.ended(ss.call.servedCall, ss.method, errExited)
	defer answerExited(ss.call.serverCall) // also if who watches exits as well
	answerExited(ss.call.servedCall)
}

// handedCall is a call that goes on, or may, when its handler has returned.
type handedCall interface {
	HandOver(handover.Owner) error
	Arm(w handover.Waker, input bool) handover.Events
	ArmRoom(w handover.Waker, lazy bool) bool
	Offer(p *transport.Payload, w handover.Waker, more int) (taken bool, err error)
	EndLazy()
	Flush()
	Conn() any
	Fate() error
	Late() error
	Done()
}

var (
	_ handedCall = (*transport.ServerStream)(nil)
	_ handedCall = (*transport.HandlerStream)(nil)
)

// handedStream implements handover.Server for a serverStream.
type handedStream serverStream

var _ handover.Server = (*handedStream)(nil)

// handed returns the call as the transport has it.
func (h *handedStream) handed() handedCall { return h.call.serverCall.(handedCall) }

// HandOver implements handover.Server.
func (h *handedStream) HandOver(o handover.Owner) error { return h.handed().HandOver(o) }

// Arm implements handover.Server.
func (h *handedStream) Arm(w handover.Waker, input bool) handover.Events {
	if h.received && !h.method.stream.ClientStreams {
		input = false // there is no more input
	}
	return h.handed().Arm(w, input)
}

// ArmRoom implements handover.Server.
func (h *handedStream) ArmRoom(w handover.Waker, lazy bool) bool { return h.handed().ArmRoom(w, lazy) }

// EndLazy implements handover.Server.
func (h *handedStream) EndLazy() { h.handed().EndLazy() }

// Flush implements handover.Server.
func (h *handedStream) Flush() { h.handed().Flush() }

// Conn implements handover.Server.
func (h *handedStream) Conn() any { return h.handed().Conn() }

// IsPlain implements handover.Server.
func (h *handedStream) IsPlain(stream any) bool {
	g, ok := stream.(interface {
		inner() (self any, _ ServerStream)
	})
	if !ok {
		return stream == any((*serverStream)(h))
	}
	self, s := g.inner()
	return stream == self && s == ServerStream((*serverStream)(h))
}

// Offer implements handover.Server.
func (h *handedStream) Offer(prepared any, w handover.Waker, more int) (taken bool, err error) {
	p := prepared.(*PreparedMsg)
	if h.call.watch != nil || p.size > h.server.opts.maxSend {
		if !h.ArmRoom(w, more > 0) {
			return false, nil
		}
		if more > 0 {
			defer h.EndLazy() // also if a stats handler panics before the message is sent
		}
		return true, (*serverStream)(h).SendMsg(p)
	}
	taken, err = h.handed().Offer(&p.message.payload, w, more)
	if err != nil {
		return taken, h.call.fail(err)
	}
	return taken, nil
}

// Late implements handover.Server.
func (h *handedStream) Late() error { return h.handed().Late() }

// Kind implements handover.Encoder.
func (h *handedStream) Kind() handover.Kind {
	return kindOf(h.codec, (*serverStream)(h).compress(), h.call.watch.keepsPlain())
}

// IsKind implements handover.Encoder.
func (h *handedStream) IsKind(k *handover.Kind) bool {
	return isKind(k, h.codec, (*serverStream)(h).compress(), h.call.watch.keepsPlain())
}

// Prepare implements handover.Encoder.
func (h *handedStream) Prepare(msg any) (any, error) {
	w := h.server.writer(h.call.servedCall, h.codec)
	return prepare(&w, msg)
}

// Finish implements handover.Server.
func (h *handedStream) Finish(err error) error {
	if earlier := h.call.failure(); earlier != nil {
		return statusError(earlier)
	}
	var st *status.Status // nil stands for success
	if err != nil {
		st = statusOf(err)
	}
	instead, err := h.call.finish(st)
	if err != nil {
		return h.Fate()
	}
	return instead
}

// Fate implements handover.Server.
func (h *handedStream) Fate() error {
	if err := h.call.failure(); err != nil {
		return statusError(err)
	}
	return h.handed().Fate()
}

// Done implements handover.Server.
func (h *handedStream) Done(err error) {
	defer h.handed().Done()
	defer h.server.over(h.call.serverCall) // also if a stats handler calls runtime.Goexit
	h.server.ended(h.call.servedCall, h.method, err)
	if st, ok := h.call.serverCall.(*transport.HandlerStream); ok {
		h.server.endConn(st.Context()) // see ServeHTTP
	}
}
