// SPDX-License-Identifier: Apache-2.0

package transport

// panicLog logs panics that end a connection or a call instead of the process: see h2.Contain.
type panicLog struct{}

func (panicLog) Panicked(value any, stack []byte) {
	logger.Errorf("a field block of a peer led to a panic, which is a fault of this module: %v\n%s", value, stack)
}
