// SPDX-License-Identifier: Apache-2.0

// Package orders goes through every way in which something can go: every list of choices. It is for
// tests of small state machines, which so see each order of a number of events.
package orders

// Choices are those of one run.
type Choices struct {
	made  []int
	among []int // of how many each was chosen
	at    int
}

// IntN chooses one of n, from 0 on.
func (c *Choices) IntN(n int) int {
	if c.at == len(c.made) {
		c.made, c.among = append(c.made, 0), append(c.among, n)
	}
	k := c.made[c.at]
	c.at++
	return k
}

// Made is what was chosen so far. It is valid during the run.
func (c *Choices) Made() []int { return c.made[:c.at] }

// Each calls run with every list of choices, as long as that returns true, and returns how many
// there were. What run does may depend on its choices alone.
func Each(run func(*Choices) bool) (runs int) {
	c := new(Choices)
	for {
		c.at = 0
		runs++
		if !run(c) || !c.next() {
			return runs
		}
	}
}

// next goes on to the next list, and reports whether there is one.
func (c *Choices) next() bool {
	c.made, c.among = c.made[:c.at], c.among[:c.at]
	for n := len(c.made) - 1; n >= 0; n-- {
		if c.made[n]++; c.made[n] < c.among[n] {
			return true
		}
		c.made, c.among = c.made[:n], c.among[:n]
	}
	return false
}
