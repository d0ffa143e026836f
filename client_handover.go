// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"slices"

	"google.golang.org/grpc/internal/handover"
	"google.golang.org/grpc/internal/transport"
)

// heldOption is an option of package experimental/streams: it is given the stream when that
// begins, and knows the type of the messages that are received.
type heldOption interface {
	StreamBegun(handover.Client)
	NewMessage() any
}

// tellBegun gives the stream to its heldOptions.
func (cs *clientStream) tellBegun() {
	for _, o := range cs.opts {
		if h, ok := o.(heldOption); ok {
			h.StreamBegun((*heldStream)(cs))
		}
	}
}

// isHeld says that the stream is received from without a goroutine.
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
			return handover.Input // RecvMsg comes to the same end
		}
	}
}

// arm reports whether receiving from a would not wait. A server that does not stream has sent
// its one reply and its status by then, or a reply that the RPC fails with, whatever follows.
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
			r := cs.reader(a, m)
			r.keep = false
			_, err := r.read(m, h.NewMessage())
			return err == nil
		}
	}
	m.Data.Free()
	return true // RecvMsg tells
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
