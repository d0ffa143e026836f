// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"iter"
	"time"
)

// Windows are the flow-control windows of a connection: its own two, the sizes that those of
// a stream begin with, and the estimate of the path.
type Windows struct {
	recv   Window // the connection's: nothing in it is ever unread, see Arrived
	target int32  // what recv is kept at
	send   Outflow

	peer      uint32 // the peer's SETTINGS_INITIAL_WINDOW_SIZE
	announced uint32 // ours
	granted   uint32 // what new streams grant: more than announced until that is acknowledged
	unacked   int16  // SETTINGS of ours that are not acknowledged
	piggyback Piggyback

	unchanged uint8  // of the last bdp: how many of its samples in a row changed nothing
	early     uint32 // bytes of DATA while there is no bdp
	bdp       *BDP   // nil until there is enough DATA for a sample
}

// NewWindows are those of a connection that is going to announce initial as the receive
// window of its streams.
func NewWindows(initial uint32) Windows {
	return Windows{
		recv:      Window{DefaultWindow},
		target:    DefaultWindow,
		send:      NewOutflow(DefaultWindow),
		peer:      DefaultWindow,
		announced: initial,
		granted:   max(initial, DefaultWindow),
	}
}

// Stream returns the windows that a stream begins with.
func (w *Windows) Stream() (in Inflow, out Outflow) {
	return NewInflow(w.granted), NewOutflow(w.peer)
}

// Send is the window in which streams may send together.
func (w *Windows) Send() *Outflow { return &w.send }

// Recv returns how many bytes the peer may send on all streams together.
func (w *Windows) Recv() uint32 { return w.recv.Size() }

// Announced returns the receive window that our SETTINGS say streams have.
func (w *Windows) Announced() uint32 { return w.announced }

// SetRecv makes n the connection's receive window, and returns the increment to send.
func (w *Windows) SetRecv(n uint32) (increment uint32) {
	in := w.inflow()
	increment = in.SetTarget(n)
	w.recv, w.target = in.window, in.target
	return increment
}

// Widen makes the connection's receive window n, unless it is larger, and returns the increment to
// send.
func (w *Windows) Widen(n uint32) (increment uint32) {
	if n <= uint32(w.target) {
		return 0
	}
	return w.SetRecv(n)
}

// inflow is the connection's receive window.
func (w *Windows) inflow() Inflow { return Inflow{window: w.recv, target: w.target} }

// Arrived counts n bytes of DATA against the connection's window, and gives them back at
// once: a stream that is not read must not hold up the others, and is bounded by its own
// window. It returns the increment to send.
func (w *Windows) Arrived(n uint32) (increment uint32, err error) {
	in := w.inflow()
	if err := in.Receive(n); err != nil {
		return 0, err
	}
	increment = w.piggyback.Consume(&in, n)
	w.recv = in.window
	return increment, nil
}

// Sends is [Piggyback.Sends] for the connection's window.
func (w *Windows) Sends() (increment uint32) {
	in := w.inflow()
	increment = w.piggyback.Sends(&in)
	w.recv = in.window
	return increment
}

// SetPeerInitial obeys the peer's SETTINGS_INITIAL_WINDOW_SIZE, and returns by how much
// the send windows of the streams change: section 6.9.2.
func (w *Windows) SetPeerInitial(n uint32) (delta int64) {
	delta = int64(n) - int64(w.peer)
	w.peer = n
	return delta
}

// SettingsSent and SettingsAcked follow our SETTINGS. Only from the acknowledgement on
// does the peer have to keep to an initial window that was lowered: delta is what the receive
// windows of the streams change by. ok is false for an acknowledgement of nothing.
func (w *Windows) SettingsSent() { w.unacked++ }

// SettingsAcked is described with SettingsSent.
func (w *Windows) SettingsAcked() (delta int64, ok bool) {
	if w.unacked == 0 {
		return 0, false
	}
	if w.unacked--; w.unacked > 0 {
		return 0, true // until the last is obeyed the peer may go by an earlier one
	}
	delta = min(int64(w.announced)-int64(w.granted), 0)
	w.granted = min(w.granted, w.announced)
	return delta, true
}

// Sample counts n bytes of DATA for the estimate of the path, and returns what [BDP.Received] does: if
// ping is true the caller sends a PING, and calls Answered when the answer arrives.
func (w *Windows) Sample(n uint32, now time.Duration) (ping bool, window uint32) {
	if w.bdp == nil {
		if w.early = addUpTo(w.early, n); w.early < w.firstSample() { // it would only count, which is all that most connections need
			return false, 0
		}
		b := NewBDP(w.announced)
		b.unchanged, b.since = w.unchanged, w.early-n
		w.bdp, w.early = &b, 0
	}
	w.bdp.kept = w.announced < w.bdp.window
	return w.bdp.Received(n, now)
}

// firstSample is how many bytes of DATA come before the next estimate begins.
func (w *Windows) firstSample() uint32 {
	if w.unchanged == 0 {
		return w.announced / firstSample
	}
	return w.announced / 2 << min(w.unchanged, maxUnchangedBytes)
}

// Answered ends a sample, and returns what [BDP.Acked] does: the caller calls Grow, or Lower.
func (w *Windows) Answered(now time.Duration) (window uint32, changed bool) {
	if w.bdp == nil {
		return 0, false
	}
	return w.bdp.Acked(now)
}

// Owed returns the increment to send for the connection's window that is too little for an update of its
// own, if the path is far: see "Window updates" of package h2.
func (w *Windows) Owed() (increment uint32) {
	if w.bdp == nil || !w.bdp.isFar() {
		return 0
	}
	return w.SetRecv(uint32(w.target))
}

// Grow makes n the connection's receive window, which may have a larger one, and n, but no more than
// most, that of every stream. It is less where a stream's window, which may be wide for one large
// message, would pass 2^31-1: the peer would have to close the connection. If it returns true the caller
// announces what Announced then returns. It sends the increment for the connection, unless that is 0.
func (w *Windows) Grow(n, most uint32, streams iter.Seq[*Inflow]) (increment uint32, grown bool) {
	increment = w.Widen(n)
	if n = min(n, most); n <= w.announced {
		return increment, false // without a look at each stream
	}
	for in := range streams {
		n = uint32(min(int64(n), int64(w.granted)+in.Headroom()))
	}
	if n <= w.announced {
		return increment, false
	}
	delta := int64(n) - int64(w.granted)
	w.announced, w.granted = n, max(n, w.granted)
	w.SettingsSent()
	if delta > 0 { // else they have as much already
		for in := range streams {
			_ = in.AdjustInitial(delta) // there is room
		}
	}
	return increment, true
}

// Lower makes n, which is less than before, the receive window that streams begin with; of those that
// there are once the peer has acknowledged it. The caller announces what Announced then returns. The
// connection's window and the estimate stay.
func (w *Windows) Lower(n uint32) {
	w.announced = n
	if w.bdp != nil {
		w.bdp.unchanged = 0 // the next PING is not put off: its answer may say that there is room again
	}
	w.SettingsSent()
}

// Rest drops the estimate of a short path, for a connection that is about to be parked. That of a
// far path stays: its silences are a part of each round trip.
func (w *Windows) Rest() {
	if w.bdp != nil && !w.bdp.Lasts() {
		w.unchanged = w.bdp.unchanged
		w.bdp = nil
	}
}
