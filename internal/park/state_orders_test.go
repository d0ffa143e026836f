// SPDX-License-Identifier: Apache-2.0

package park

import (
	"slices"
	"testing"

	"google.golang.org/grpc/internal/orders"
)

// TestOrders plays every order of a few events, on each of the kernels, and in the middle of Park.
func TestOrders(t *testing.T) {
	events := 4
	if testing.Short() {
		events = 3
	}
	for _, k := range []func() kernel{
		func() kernel { return newFakeKernel() },
		func() kernel { return newFakeKqueue() },
		func() kernel { return newFakeDriver() },
	} {
		t.Logf("%d orders", orders.Each(func(c *orders.Choices) bool {
			playOrder(t, k(), c, events)
			return !t.Failed()
		}))
	}
}

func playOrder(t *testing.T, k kernel, c *orders.Choices, events int) {
	steps := slices.Concat(modelSteps, []modelStep{{"close", (*model).close}})
	s := &set{open: k.open}
	var keep Handle
	keep.init(s, owned{&fakeSocket{fd: 99}, new(wakes)})
	_ = keep.Park()
	m := &model{t: t, rng: c, s: s, k: k, role: true}
	m.h.init(s, owned{&fakeSocket{fd: m.fd}, m})
	k.setReady(m.fd, false)
	for range events {
		step := steps[c.IntN(len(steps))]
		m.passed = append(m.passed, step.name)
		step.f(m)
		m.check()
	}
	if !m.ended {
		m.close()
	}
	m.rng = first{}
	m.read()
	if m.exits != 1 {
		m.fatal("the exit path did not run once")
	}
	keep.Close()
}

// first chooses the first always.
type first struct{}

func (first) IntN(int) int { return 0 }
