// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"math/rand/v2"

	"google.golang.org/grpc/internal/orders"
)

// chooser makes the choices of a history, and notes them. A list of choices that was noted does
// the same again; where it ends, all further ones are 0, which stands for the simplest.
type chooser struct {
	rng    *rand.Rand // nil: script has all
	script []uint32
	at     int
	made   []uint32

	each *orders.Choices // has the next of the choices; nil: they are not gone through
	left int             // how many
}

func seeded(seed uint64) *chooser { return &chooser{rng: rand.New(rand.NewPCG(seed, 1))} }

func scripted(choices []uint32) *chooser { return &chooser{script: choices} }

// pick chooses one of n, from 0 on.
func (c *chooser) pick(n int) int {
	if n <= 1 {
		return 0
	}
	var k uint32
	switch {
	case c.each != nil && c.left > 0:
		c.left--
		k = uint32(c.each.IntN(n) % n) // the runtime may have changed the order of two goroutines
	case c.rng != nil:
		k = c.rng.Uint32N(uint32(n))
	case c.at < len(c.script):
		k = c.script[c.at] % uint32(n)
		c.at++
	}
	c.made = append(c.made, k)
	return int(k)
}

// rarely is true once in n times, and one of two ways where each is gone.
func (c *chooser) rarely(n int) bool {
	if c.each != nil && c.left > 0 {
		n = 2
	}
	return c.pick(n) == n-1
}

// of chooses one of the values.
func of[T any](c *chooser, values ...T) T { return values[c.pick(len(values))] }
