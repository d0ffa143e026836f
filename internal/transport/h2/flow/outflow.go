// SPDX-License-Identifier: Apache-2.0

package flow

// Outflow is a window the peer granted to us: a stream's or the connection's.
// Data needs room in both. The zero value lets nothing through until Add.
type Outflow struct {
	window Window
}

// NewOutflow returns an Outflow of initial bytes: DefaultWindow for the
// connection, the peer's SETTINGS_INITIAL_WINDOW_SIZE for a stream. A value
// above MaxWindow counts as MaxWindow.
func NewOutflow(initial uint32) Outflow {
	return Outflow{window: Window{n: int32(min(initial, MaxWindow))}}
}

// Window returns the room in this window alone.
func (f *Outflow) Window() uint32 { return f.window.Size() }

// Available returns how many bytes stream f may send now over conn. An empty
// DATA frame needs no room (section 6.9.1).
func (f *Outflow) Available(conn *Outflow) uint32 {
	return min(f.window.Size(), conn.window.Size())
}

// Take uses up n bytes of both windows, or, if that is more than Available,
// neither and returns ErrOverrun.
func (f *Outflow) Take(conn *Outflow, n uint32) error {
	if n > f.Available(conn) {
		return ErrOverrun
	}
	if err := f.window.Take(n); err != nil {
		return err
	}
	return conn.window.Take(n)
}

// Add obeys a WINDOW_UPDATE. Section 6.9.1: on ErrOverflow a stream is reset,
// and a connection is closed, with FLOW_CONTROL_ERROR.
func (f *Outflow) Add(increment uint32) error { return f.window.Add(increment) }

// AdjustInitial obeys a change of the peer's SETTINGS_INITIAL_WINDOW_SIZE, with
// delta the new value less the old one. It is for every stream, and not for the
// connection. The window may fall below zero; the stream then waits until
// updates, or a larger value, have brought it above again. Section 6.9.2: ErrOverflow is a
// connection error FLOW_CONTROL_ERROR.
func (f *Outflow) AdjustInitial(delta int64) error { return f.window.shift(delta) }
