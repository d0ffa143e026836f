// SPDX-License-Identifier: Apache-2.0

package flow

// Company says whether the updates of a window go with DATA of ours. One that goes alone costs
// a write, and wakes the peer for nothing else; where messages go to and fro there is soon one
// to go with.
type Company uint8

const (
	alone  Company = iota // we have not sent since the last update
	likely                // we have, and may again
)

// Consume is Inflow's. The increment is due later if company is likely.
func (c *Company) Consume(in *Inflow, n uint32) (increment uint32) {
	if *c == alone {
		return in.Consume(n)
	}
	if increment = in.Defer(n); increment > 0 {
		*c = alone
	}
	return increment
}

// Sends notes that DATA is about to be sent, and returns the increment to go with it.
func (c *Company) Sends(in *Inflow) (increment uint32) {
	*c = likely
	return in.Consume(0)
}
