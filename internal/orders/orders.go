// SPDX-License-Identifier: Apache-2.0

// Package orders runs a function with every possible list of choices. With it, tests of small state
// machines go through every order of a number of events.
package orders

// Choices are the choices of one run.
type Choices struct {
	made  []int
	among []int // for each choice, among how many it was made
	at    int
}

// IntN chooses a number from 0 to n-1.
func (c *Choices) IntN(n int) int {
	if c.at == len(c.made) {
		c.made, c.among = append(c.made, 0), append(c.among, n)
	}
	k := c.made[c.at]
	c.at++
	return k
}

// Made returns the choices made so far. The result is valid during the run.
func (c *Choices) Made() []int { return c.made[:c.at] }

// Each calls run with every list of choices, as long as run returns true. It returns how many times it
// has called run. Besides its choices, nothing may influence what run does.
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

// next moves on to the next list of choices, and reports whether there is one.
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
