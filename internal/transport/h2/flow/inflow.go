// SPDX-License-Identifier: Apache-2.0

package flow

import "math"

// grantFraction is the part of its target that an Inflow lets add up before it
// sends an update: small enough that the peer, which has the other three
// quarters to go on with, does not run dry on the way.
const grantFraction = 4

// Inflow is a window that we granted to the peer: a stream's or the
// connection's.
//
// It is three numbers. The window is what the peer may still send. unread is
// what it has sent and nobody has consumed. Their sum is the memory this side
// has answered for, and the target is what that sum is kept at: when consuming
// makes it fall below, the difference is granted again. So whatever raises the
// sum past the target, a loan for one large message or a lowered target, is
// paid back by itself, as updates are withheld until enough was consumed.
//
// No stall: a peer is blocked only by a window of 0, and if all was consumed
// unread is 0 too, so the difference is the whole target and is granted. This
// wants a target above 0. Where nothing is consumed before more has come, that is expected, and
// the window is wide enough for it, whatever the target is lowered to meanwhile.
//
// Methods that return an increment have already counted it as granted: unless
// it is 0, the caller must send the WINDOW_UPDATE.
type Inflow struct {
	window   Window
	target   int32
	expected uint32 // what the reader waits for, and has not been received: see Expect
	unread   uint32 // at most: a stream with more than 4 GiB unread is granted a little too much
}

// NewInflow returns an Inflow whose window is initial bytes, known to the peer:
// DefaultWindow for the connection, our SETTINGS_INITIAL_WINDOW_SIZE for a
// stream. A value above MaxWindow counts as MaxWindow.
func NewInflow(initial uint32) Inflow {
	n := int32(min(initial, MaxWindow))
	return Inflow{window: Window{n: n}, target: n}
}

// Window returns how many bytes the peer may still send.
func (f *Inflow) Window() uint32 { return f.window.Size() }

// Headroom returns how far the window may still grow.
func (f *Inflow) Headroom() int64 { return MaxWindow - int64(f.window.n) }

// Receive counts the payload of a DATA frame, padding included. On ErrOverrun
// the peer ignored the window, and nothing was counted: section 6.9.1 has the
// stream reset, or the connection closed, with FLOW_CONTROL_ERROR.
func (f *Inflow) Receive(n uint32) error {
	if err := f.window.Take(n); err != nil {
		return err
	}
	f.unread += min(n, math.MaxUint32-f.unread)
	f.expected -= min(n, f.expected)
	return nil
}

// Consume says that n of the unread bytes need no more memory: they were
// delivered or discarded, or were padding. It returns the increment to send now.
// Small amounts add up, to a quarter of the target, before one is sent. More
// than what is unread is never given back.
func (f *Inflow) Consume(n uint32) (increment uint32) {
	f.unread -= min(n, f.unread)
	if owed := f.owed(); owed >= max(int64(f.target)/grantFraction, 1) {
		return f.grant(owed)
	}
	return 0
}

// Defer is Consume for a receiver that is about to send, or likely to: it returns no increment
// as long as the peer has more than half of its window left. Consume(0) makes good for it, with
// what is sent, and so does Defer(0), once Receive has left less than that.
func (f *Inflow) Defer(n uint32) (increment uint32) {
	if f.window.n <= f.target/2 {
		return f.Consume(n)
	}
	f.unread -= min(n, f.unread)
	return 0
}

// SetTarget changes the size the window is kept at, and returns the increment
// to send for growth. A lower target takes effect as bytes are consumed, since
// a grant cannot be taken back. n is 1 to MaxWindow; other values count as the
// nearest of these.
func (f *Inflow) SetTarget(n uint32) (increment uint32) {
	f.target = int32(min(max(n, 1), MaxWindow))
	return f.grant(f.owed())
}

// Expect says that the reader waits for n bytes that have not been received,
// such as the rest of a message, and can consume nothing before it has them. It
// returns the increment that lets the peer send them all, 0 if it already may.
// The caller has decided to spend that memory. The loan ends by itself once the
// bytes are consumed.
func (f *Inflow) Expect(n uint32) (increment uint32) {
	f.expected = n
	return f.grant(int64(n) - int64(f.window.n))
}

// AdjustInitial moves window and target by delta without an update, because
// our SETTINGS_INITIAL_WINDOW_SIZE changed by as much. It is for every stream,
// and not for the connection. Raise when the SETTINGS frame is queued and lower
// when it is acknowledged: in between the peer may go by either value, and the
// larger one must be let pass. Streams that start in between start with the
// larger one, too.
//
// After lowering, Lowered returns the increment to send, without which the peer could wait for ever.
//
// It returns ErrOverflow, and changes nothing, if the window would pass
// MaxWindow: such a setting must not be sent, as the peer has to close the
// connection for it (section 6.9.2).
func (f *Inflow) AdjustInitial(delta int64) error {
	if err := f.window.shift(delta); err != nil {
		return err
	}
	f.target = int32(min(max(int64(f.target)+delta, 1), MaxWindow))
	return nil
}

// Lowered follows AdjustInitial with a delta below zero, and returns the increment to send, if any:
// what is left of what the reader expects, and what was too little for an update at the old
// target and may be enough at the new one.
func (f *Inflow) Lowered() (increment uint32) {
	if f.expected > 0 {
		increment = f.Expect(f.expected)
	}
	return increment + f.Consume(0)
}

// owed is what the memory answered for lacks of the target; below zero there
// is a loan.
func (f *Inflow) owed() int64 { return int64(f.target) - int64(f.window.n) - int64(f.unread) }

// grant widens the window by n, or by as much of it as MaxWindow allows.
func (f *Inflow) grant(n int64) uint32 {
	n = min(n, MaxWindow-int64(f.window.n))
	if n <= 0 || f.window.shift(n) != nil {
		return 0
	}
	return uint32(n)
}
