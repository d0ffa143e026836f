// SPDX-License-Identifier: Apache-2.0

package flow

import "math"

// An Inflow sends an update when 1/grantFraction of its target has added up. That is small enough that
// the peer, which still has the other three quarters, does not run out of window while the update is on
// its way.
const grantFraction = 4

// Inflow is a window that we granted to the peer: a stream's or the
// connection's.
//
// It is three numbers. The window is what the peer may still send. unread is what the peer has sent and
// nobody has consumed. Their sum is the memory for which this side has given credit. target is the
// value at which the sum is kept: when consuming makes the sum fall below target, the difference is
// granted again. The sum may be above target, because of a loan for one large message or because target
// was lowered. That corrects itself, as updates are withheld until enough was consumed.
//
// The peer never stalls. Only a window of 0 blocks it. If everything was consumed, unread is 0 too, so
// the difference is the whole target and is granted. This requires a target above 0. A reader that can
// consume nothing before more has come calls Expect, and the window is then wide enough, however low
// target is.
//
// Methods that return an increment have already counted it as granted. Unless it is 0, the caller must
// send the WINDOW_UPDATE.
type Inflow struct {
	window   Window
	target   int32
	expected uint32 // bytes that the reader waits for and that have not arrived: see Expect
	unread   uint32 // saturates: a stream with more than 4 GiB unread is granted a little too much
}

// newInflow returns an Inflow whose window is initial bytes, known to the peer:
// DefaultWindow for the connection, our SETTINGS_INITIAL_WINDOW_SIZE for a
// stream. A value above MaxWindow counts as MaxWindow.
func newInflow(initial uint32) Inflow {
	n := int32(min(initial, MaxWindow))
	return Inflow{window: Window{n: n}, target: n}
}

// Window returns how many bytes the peer may still send.
func (f *Inflow) Window() uint32 { return f.window.Size() }

// Headroom returns how far the window may still grow.
func (f *Inflow) Headroom() int64 { return MaxWindow - int64(f.window.n) }

// Receive counts the payload of a DATA frame, including padding. On ErrOverrun the peer ignored the
// window, and nothing was counted: section 6.9.1 says to reset the stream, or close the connection,
// with FLOW_CONTROL_ERROR.
func (f *Inflow) Receive(n uint32) error {
	if err := f.window.Take(n); err != nil {
		return err
	}
	f.unread += min(n, math.MaxUint32-f.unread)
	f.expected -= min(n, f.expected)
	return nil
}

// Consume says that n of the unread bytes need no more memory: they were delivered or discarded, or
// were padding. It returns the increment to send now. Small amounts add up to a quarter of the target
// before one is sent. No more than what is unread is ever given back.
func (f *Inflow) Consume(n uint32) (increment uint32) {
	f.unread -= min(n, f.unread)
	if owed := f.owed(); owed >= max(int64(f.target)/grantFraction, 1) {
		return f.grant(owed)
	}
	return 0
}

// Defer is Consume for a receiver that is about to send, or likely to. It returns no increment as long
// as the peer has more than half of its window left. The increment is returned later: by Consume(0),
// when something is sent, or by Defer(0), once the peer has used up half of its window.
func (f *Inflow) Defer(n uint32) (increment uint32) {
	if f.window.n <= f.target/2 {
		return f.Consume(n)
	}
	f.unread -= min(n, f.unread)
	return 0
}

// SetTarget changes the size at which the window is kept, and returns the increment to send now:
// everything that is missing. A lower target takes effect as bytes are consumed, since a grant can't be
// taken back. n is from 1 to MaxWindow; other values count as the nearest of these.
func (f *Inflow) SetTarget(n uint32) (increment uint32) {
	f.target = int32(min(max(n, 1), MaxWindow))
	return f.grant(f.owed())
}

// Expect says that the reader waits for n bytes that have not arrived, such as the rest of a message,
// and can consume nothing before it has them. It returns the increment that lets the peer send them
// all, or 0 if the peer already may. The caller has decided to spend that memory. This loan ends by
// itself once the bytes are consumed.
func (f *Inflow) Expect(n uint32) (increment uint32) {
	f.expected = n
	return f.grant(int64(n) - int64(f.window.n))
}

// AdjustInitial changes window and target by delta without an update, because our
// SETTINGS_INITIAL_WINDOW_SIZE changed by delta. It is called for every stream, and not for the
// connection. Call it when the SETTINGS frame is queued if the value grows, and when that frame is
// acknowledged if the value shrinks. In between the peer may use either value, so the larger one must
// be accepted. Streams that start in between start with the larger one, too.
//
// After lowering, Lowered returns the increment to send, without which the peer could wait forever.
//
// It returns ErrOverflow, and changes nothing, if the window would pass MaxWindow. Such a setting must
// not be sent, as the peer has to close the connection for it (section 6.9.2).
func (f *Inflow) AdjustInitial(delta int64) error {
	if err := f.window.shift(delta); err != nil {
		return err
	}
	f.target = int32(min(max(int64(f.target)+delta, 1), MaxWindow))
	return nil
}

// Lowered is called after AdjustInitial with a delta below zero. It returns the increment to send, if
// any. That is what is left of what the reader expects, and what was too little for an update at the
// old target but may be enough at the new one.
func (f *Inflow) Lowered() (increment uint32) {
	if f.expected > 0 {
		increment = f.Expect(f.expected)
	}
	return increment + f.Consume(0)
}

// owed returns by how much window and unread together are below the target. Below zero it is a loan.
func (f *Inflow) owed() int64 { return int64(f.target) - int64(f.window.n) - int64(f.unread) }

// grant widens the window by n, but not past MaxWindow. It returns by how much.
func (f *Inflow) grant(n int64) uint32 {
	n = min(n, MaxWindow-int64(f.window.n))
	if n <= 0 || f.window.shift(n) != nil {
		return 0
	}
	return uint32(n)
}
