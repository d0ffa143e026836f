// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"google.golang.org/grpc/internal/handover"
	"google.golang.org/grpc/status"
)

// leave follows the return, with err, of a handler that has handed its stream over: from here
// on the call is the owner's, also if err has failed it.
func (ss *serverStream) leave(err error) {
	if err != nil {
		_ = ss.call.fail(err) // which the owner finds out
	}
	ss.call.Owner().HandlerReturned()
}

// exited follows a handler that has not returned: it called runtime.Goexit, or panicked.
func (ss *serverStream) exited() {
	if ss.call.Owner() != nil {
		ss.leave(errExited)
		return
	}
	ss.server.ended(ss.call.servedCall, ss.method, errExited)
}

// handedStream is a serverStream as its owner sees it.
type handedStream serverStream

var _ handover.Server = (*handedStream)(nil)

// HandOver implements handover.Server.
func (h *handedStream) HandOver(o handover.Owner) error { return h.call.HandOver(o) }

// Arm implements handover.Server.
func (h *handedStream) Arm(w handover.Waker, input bool) handover.Events {
	if h.received && !h.method.stream.ClientStreams {
		input = false // there is no more
	}
	return h.call.Arm(w, input)
}

// ArmRoom implements handover.Server.
func (h *handedStream) ArmRoom(w handover.Waker, lazy bool) bool { return h.call.ArmRoom(w, lazy) }

// Flush implements handover.Server.
func (h *handedStream) Flush() { h.call.Flush() }

// Conn implements handover.Server.
func (h *handedStream) Conn() any { return h.call.Conn() }

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
		return true, (*serverStream)(h).SendMsg(p)
	}
	taken, err = h.call.serverCall.Offer(&p.message.payload, w, more)
	if err != nil {
		return taken, h.call.fail(err)
	}
	return taken, nil
}

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
	var st *status.Status // of success
	if err != nil {
		st = statusOf(err)
	}
	if h.call.Finish(st) != nil {
		return h.Fate()
	}
	return nil
}

// Fate implements handover.Server.
func (h *handedStream) Fate() error {
	if err := h.call.failure(); err != nil {
		return statusError(err)
	}
	return h.call.Fate()
}

// Done implements handover.Server.
func (h *handedStream) Done(err error) {
	h.server.ended(h.call.servedCall, h.method, err)
	h.server.over(h.call.serverCall)
	h.call.Done()
}
