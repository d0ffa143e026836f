// SPDX-License-Identifier: Apache-2.0

package flow

// Outflow is a window that the peer granted to us: a stream's or the connection's. Data needs room in
// both. The zero value has no room until Add.
type Outflow struct {
	window Window
}

// newOutflow returns an Outflow of initial bytes: DefaultWindow for the
// connection, the peer's SETTINGS_INITIAL_WINDOW_SIZE for a stream. A value
// above MaxWindow counts as MaxWindow.
func newOutflow(initial uint32) Outflow {
	return Outflow{window: Window{n: int32(min(initial, MaxWindow))}}
}

// Window returns how much room this window has, in bytes.
func (f *Outflow) Window() uint32 { return f.window.Size() }

// Available returns how many bytes stream f may send now over the connection conn. An empty DATA frame
// needs no room (section 6.9.1).
func (f *Outflow) Available(conn *Outflow) uint32 {
	return min(f.window.Size(), conn.window.Size())
}

// Take uses up n bytes of both windows. If n is more than Available, it changes nothing and returns
// ErrOverrun.
func (f *Outflow) Take(conn *Outflow, n uint32) error {
	if n > f.Available(conn) {
		return ErrOverrun
	}
	if err := f.window.Take(n); err != nil {
		return err
	}
	return conn.window.Take(n)
}

// Add applies a WINDOW_UPDATE. On ErrOverflow the caller resets the stream, or closes the connection,
// with FLOW_CONTROL_ERROR (section 6.9.1).
func (f *Outflow) Add(increment uint32) error { return f.window.Add(increment) }

// AdjustInitial applies a change of the peer's SETTINGS_INITIAL_WINDOW_SIZE. delta is the new value
// minus the old one. It is called for every stream, and not for the connection. The window may fall
// below zero. The stream then waits until updates, or a larger setting, have raised it above zero
// again. ErrOverflow is a connection error FLOW_CONTROL_ERROR (section 6.9.2).
func (f *Outflow) AdjustInitial(delta int64) error { return f.window.shift(delta) }
