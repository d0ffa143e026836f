// SPDX-License-Identifier: Apache-2.0

package flow

// Piggyback says whether the updates of a window are piggybacked on DATA of ours. One that goes alone costs
// a write, and wakes the peer for nothing else; where messages go to and fro there is soon one
// to go with.
type Piggyback uint8

const (
	alone  Piggyback = iota // no DATA was sent since the last update: the next update goes alone
	likely                  // DATA was sent since then, so more is likely to follow, for an update to go with
)

// Consume is Inflow's. The increment is due later if piggyback is likely.
func (c *Piggyback) Consume(in *Inflow, n uint32) (increment uint32) {
	if *c == alone {
		return in.Consume(n)
	}
	if increment = in.Defer(n); increment > 0 {
		*c = alone
	}
	return increment
}

// Sends notes that DATA is about to be sent, and returns the increment to go with it.
func (c *Piggyback) Sends(in *Inflow) (increment uint32) {
	*c = likely
	return in.Consume(0)
}
