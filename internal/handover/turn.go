// SPDX-License-Identifier: Apache-2.0

package handover

import "sync/atomic"

// Turn is the right to act for a stream. One goroutine at a time has it, or none has, and then the
// stream is armed. It changes hands at one atomic word only:
//
//   - It begins taken: by the handler of a server, or by the goroutine that opens a client's stream.
//   - Rest gives it up, unless Wake has been called since it was taken, or since Rest last failed.
//   - Wake takes it if Wake returns true. Otherwise the goroutine that has it will look again.
//   - End keeps it for good.
//
// So no wake-up is lost, and two goroutines never act at the same time.
type Turn struct{ state atomic.Uint32 }

const (
	taken  uint32 = iota // a goroutine has the turn
	noted                // a goroutine has the turn, and has to look again
	free                 // no goroutine has the turn
	ending               // no goroutine will have the turn again
)

// Wake reports whether the caller now has the turn. It must then act for the stream, or let another
// goroutine do so.
func (t *Turn) Wake() bool {
	for {
		switch t.state.Load() {
		case free:
			if t.state.CompareAndSwap(free, taken) {
				return true
			}
		case taken:
			if t.state.CompareAndSwap(taken, noted) {
				return false
			}
		default:
			return false
		}
	}
}

// Rest gives the turn up and returns true. It returns false if Wake was called meanwhile: the caller keeps the
// turn, and has to look again.
func (t *Turn) Rest() bool {
	if t.state.CompareAndSwap(taken, free) {
		return true
	}
	t.state.CompareAndSwap(noted, taken)
	return false
}

// End keeps the turn: Wake returns false from now on.
func (t *Turn) End() { t.state.Store(ending) }
