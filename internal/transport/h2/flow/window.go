// SPDX-License-Identifier: Apache-2.0

package flow

import "errors"

const (
	// MaxWindow is the largest legal window, RFC 9113 section 6.9.1.
	MaxWindow = 1<<31 - 1
	// DefaultWindow is the window of the connection, and of every stream
	// until SETTINGS_INITIAL_WINDOW_SIZE says otherwise, section 6.9.2.
	DefaultWindow = 65535
)

var (
	// ErrOverflow is returned when a window would grow past MaxWindow.
	ErrOverflow = errors.New("flow-control window grows past 2^31-1")
	// ErrOverrun is returned for more data than the window allows.
	ErrOverrun = errors.New("more data than the flow-control window allows")
)

// Window is one flow-control window: the number of bytes that may still be sent
// in one direction. It is never above MaxWindow, and is below zero only if a
// changed setting shrank it after the bytes had gone out (section 6.9.2).
// A failed operation leaves it as it was. The zero value is an empty window.
type Window struct {
	n int32
}

// Size returns how many bytes may be sent: 0 for a window below zero.
func (w Window) Size() uint32 { return uint32(max(w.n, 0)) }

// Add widens the window by n bytes, or returns ErrOverflow.
func (w *Window) Add(n uint32) error { return w.shift(int64(n)) }

// Take uses up n bytes, or returns ErrOverrun if fewer are left.
func (w *Window) Take(n uint32) error {
	if n > w.Size() {
		return ErrOverrun
	}
	w.n -= int32(n)
	return nil
}

// shift changes the window by delta, which may make it negative. No legal sequence of settings reaches
// the lower bound: a window is at least what is granted now, hence at least 0, minus what was granted
// when the bytes were sent.
func (w *Window) shift(delta int64) error {
	if delta > 2*MaxWindow || delta < -2*MaxWindow {
		return ErrOverflow
	}
	n := int64(w.n) + delta
	if n > MaxWindow || n < -MaxWindow {
		return ErrOverflow
	}
	w.n = int32(n)
	return nil
}
