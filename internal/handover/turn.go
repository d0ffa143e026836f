// SPDX-License-Identifier: Apache-2.0

package handover

import "sync/atomic"

// Turn is whose turn it is to act for a stream: one goroutine's at a time, or nobody's, and
// then the stream is armed. It changes hands at one atomic word only:
//
//   - It begins taken: by the handler of a server, or by who opens the stream of a client.
//   - Rest gives it up, unless somebody has called Wake since it was taken, or since Rest
//     last failed.
//   - Wake takes it, if it returns true. Else who has it is noted to look again.
//   - End keeps it for good.
//
// So no wake-up is lost, and there are never two at work.
type Turn struct{ state atomic.Uint32 }

const (
	taken  uint32 = iota // somebody is at work
	noted                // the same, and has to look again
	free                 // nobody is
	ending               // nobody will be
)

// Wake reports whether the caller has the turn now, or has to see to it that another
// goroutine acts with it.
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

// Rest gives the turn up, and reports whether it did. If not, there is something to look at.
func (t *Turn) Rest() bool {
	if t.state.CompareAndSwap(taken, free) {
		return true
	}
	t.state.CompareAndSwap(noted, taken)
	return false
}

// End keeps the turn: Wake returns false from now on.
func (t *Turn) End() { t.state.Store(ending) }
