// SPDX-License-Identifier: Apache-2.0

package flow

// Piggyback decides whether updates of a window go out together with our DATA. An update that goes
// alone costs a write, and wakes the peer for nothing else. Where messages go back and forth, there is
// soon DATA to go with.
type Piggyback uint8

const (
	alone  Piggyback = iota // we have sent no DATA since the last update: the next update goes alone
	likely                  // we have sent DATA since then: the next update waits for more DATA to go with
)

// Consume is Inflow.Consume, except that it returns the increment later if c is likely.
func (c *Piggyback) Consume(in *Inflow, n uint32) (increment uint32) {
	if *c == alone {
		return in.Consume(n)
	}
	if increment = in.Defer(n); increment > 0 {
		*c = alone
	}
	return increment
}

// Sends records that DATA is about to be sent. It returns the increment of an update to send with it.
func (c *Piggyback) Sends(in *Inflow) (increment uint32) {
	*c = likely
	return in.Consume(0)
}
