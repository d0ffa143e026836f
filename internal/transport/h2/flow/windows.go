// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"iter"
	"time"
)

// Windows has the flow-control windows of a connection: its own two, the initial sizes of the windows
// of streams, and the estimate of the path.
type Windows struct {
	recv   Window // the connection's receive window: nothing in it is ever unread, see Arrived
	target int32  // the size at which recv is kept
	send   Outflow

	peer      uint32 // the peer's SETTINGS_INITIAL_WINDOW_SIZE
	announced uint32 // our SETTINGS_INITIAL_WINDOW_SIZE
	granted   uint32 // the receive window of new streams: more than announced until the peer acknowledges announced
	unacked   int16  // how many of our SETTINGS are not acknowledged
	piggyback Piggyback

	unchanged uint8  // BDP.unchanged of the last estimator
	early     uint32 // bytes of DATA that came while bdp is nil
	bdp       *BDP   // nil until there is enough DATA for a sample
}

// NewWindows returns the windows of a connection that will announce initial as the receive window of
// its streams.
func NewWindows(initial uint32) Windows {
	return Windows{
		recv:      Window{DefaultWindow},
		target:    DefaultWindow,
		send:      newOutflow(DefaultWindow),
		peer:      DefaultWindow,
		announced: initial,
		granted:   max(initial, DefaultWindow),
	}
}

// Stream returns the initial windows of a stream.
func (w *Windows) Stream() (in Inflow, out Outflow) {
	return newInflow(w.granted), newOutflow(w.peer)
}

// Send returns the connection's send window, which all streams share.
func (w *Windows) Send() *Outflow { return &w.send }

// Recv returns how many bytes the peer may send on all streams together.
func (w *Windows) Recv() uint32 { return w.recv.Size() }

// Announced returns the initial receive window of streams according to our SETTINGS.
func (w *Windows) Announced() uint32 { return w.announced }

// SetRecv makes n the connection's receive window, and returns the increment to send.
func (w *Windows) SetRecv(n uint32) (increment uint32) {
	in := w.inflow()
	increment = in.SetTarget(n)
	w.recv, w.target = in.window, in.target
	return increment
}

// Widen makes the connection's receive window n, unless it is larger already, and returns the increment
// to send.
func (w *Windows) Widen(n uint32) (increment uint32) {
	if n <= uint32(w.target) {
		return 0
	}
	return w.SetRecv(n)
}

// inflow returns the connection's receive window as an Inflow.
func (w *Windows) inflow() Inflow { return Inflow{window: w.recv, target: w.target} }

// Arrived counts n bytes of DATA against the connection's window, and gives them back at once. A stream
// that nobody reads must not hold up the others, and its own window bounds it. Arrived returns the
// increment to send.
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

// SetPeerInitial applies the peer's SETTINGS_INITIAL_WINDOW_SIZE, and returns by how much the send
// windows of the streams change: section 6.9.2.
func (w *Windows) SetPeerInitial(n uint32) (delta int64) {
	delta = int64(n) - int64(w.peer)
	w.peer = n
	return delta
}

// SettingsSent and SettingsAcked are called when our SETTINGS are sent and acknowledged. Only from the
// acknowledgement on does the peer have to obey an initial window that was lowered. delta is by how
// much the receive windows of the streams then change. ok is false if no SETTINGS were unacknowledged.
func (w *Windows) SettingsSent() { w.unacked++ }

// SettingsAcked is described with SettingsSent.
func (w *Windows) SettingsAcked() (delta int64, ok bool) {
	if w.unacked == 0 {
		return 0, false
	}
	if w.unacked--; w.unacked > 0 {
		return 0, true // until the peer has obeyed the last one, it may use an earlier one
	}
	delta = min(int64(w.announced)-int64(w.granted), 0)
	w.granted = min(w.granted, w.announced)
	return delta, true
}

// Sample counts n bytes of DATA for the estimate of the path, and returns what [BDP.Received] does. If
// ping is true the caller sends a PING, and calls Answered when the answer arrives.
func (w *Windows) Sample(n uint32, now time.Duration) (ping bool, window uint32) {
	if w.bdp == nil {
		if w.early = addUpTo(w.early, n); w.early < w.firstSample() { // most connections never need an estimator
			return false, 0
		}
		b := newBDP(w.announced)
		b.unchanged, b.since = w.unchanged, w.early-n
		w.bdp, w.early = &b, 0
	}
	w.bdp.kept = w.announced < w.bdp.window
	return w.bdp.Received(n, now)
}

// firstSample returns how many bytes of DATA must come before a new estimator is made.
func (w *Windows) firstSample() uint32 {
	if w.unchanged == 0 {
		return w.announced / firstSample
	}
	return w.announced / 2 << min(w.unchanged, maxUnchangedBytes)
}

// Answered ends a sample, and returns what [BDP.Acked] does. The caller then calls Grow or Lower.
func (w *Windows) Answered(now time.Duration) (window uint32, changed bool) {
	if w.bdp == nil {
		return 0, false
	}
	return w.bdp.Acked(now)
}

// Owed returns the increment that is missing in the connection's window, if the path is far, even if it
// is too small for an update of its own: see "Window updates" in the documentation of package h2.
func (w *Windows) Owed() (increment uint32) {
	if w.bdp == nil || !w.bdp.isFar() {
		return 0
	}
	return w.SetRecv(uint32(w.target))
}

// Grow makes the connection's receive window n, unless that is larger already, and the receive window
// of every stream n, but no more than most. It chooses less if a stream's window, which may be wide for
// one large message, would pass 2^31-1: the peer would have to close the connection for that. If grown
// is true, the caller announces what Announced then returns. The caller also sends the increment for
// the connection, unless that is 0.
func (w *Windows) Grow(n, most uint32, streams iter.Seq[*Inflow]) (increment uint32, grown bool) {
	increment = w.Widen(n)
	if n = min(n, most); n <= w.announced {
		return increment, false // without iterating over the streams
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
	if delta > 0 { // otherwise the streams have as much already
		for in := range streams {
			_ = in.AdjustInitial(delta) // there is room
		}
	}
	return increment, true
}

// Lower makes n, which must be less than before, the initial receive window of streams. It takes
// effect, for streams that exist and for new ones, once the peer has acknowledged it. The caller
// announces what Announced then returns. The connection's window and the estimate do not change.
func (w *Windows) Lower(n uint32) {
	w.announced = n
	if w.bdp != nil {
		w.bdp.unchanged = 0 // do not delay the next PING: its answer may show that windows can grow again
	}
	w.SettingsSent()
}

// Rest drops the estimator of a short path, because the connection is about to be parked. It keeps that
// of a far path, whose silences are a part of each round trip.
func (w *Windows) Rest() {
	if w.bdp != nil && !w.bdp.Lasts() {
		w.unchanged = w.bdp.unchanged
		w.bdp = nil
	}
}
