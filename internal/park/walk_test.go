// SPDX-License-Identifier: Apache-2.0

package park

import (
	"testing"
	"testing/synctest"
	"time"
)

// crew is many parked handles of a fake kernel.
type crew struct {
	set   *set
	socks []fakeSocket
	wakes []wakes
	hs    []Handle
}

func newCrew(t *testing.T, n int) *crew {
	t.Helper()
	s, _ := fakeSet()
	c := &crew{set: s, socks: make([]fakeSocket, n), wakes: make([]wakes, n), hs: make([]Handle, n)}
	for i := range c.hs {
		c.socks[i].fd = i
		c.hs[i].init(s, owned{&c.socks[i], &c.wakes[i]})
		c.park(t, i)
	}
	t.Cleanup(func() {
		for i := range c.hs {
			c.hs[i].Close()
		}
		wantStats(t, s, Stats{})
	})
	return c
}

func (c *crew) park(t *testing.T, i int) {
	t.Helper()
	if err := c.hs[i].Park(); err != nil {
		t.Fatal(err)
	}
}

// A walk comes round in time, and wakes once those who are parked on a socket that
// was closed, and nobody else.
func TestWalk(t *testing.T) {
	for _, n := range []int{4, batch, batch + 1, 3*batch + 5, walkAtOnce, walkAtOnce + batch/2} {
		c := newCrew(t, n)
		p := c.set.p.Load()
		p.step()      // so that the walk does not begin with the first one
		busy := n / 3 // has a reader, who will see for itself
		c.hs[busy].Kick()
		for _, i := range []int{0, busy, n / 2, n - 1} {
			c.socks[i].closed.Store(true)
		}
		for range (n + walkAtOnce - 1) / walkAtOnce {
			p.step()
		}
		for i := range c.hs {
			lost := i == 0 || i == n/2 || i == n-1
			if woken := c.wakes[i].n == 1; woken != lost || c.wakes[i].n > 1 || c.hs[i].Parked() != (!lost && i != busy) {
				t.Fatalf("of %d, number %d: %d wakes, parked %v", n, i, c.wakes[i].n, c.hs[i].Parked())
			}
		}
	}
}

func TestWalkComesRound(t *testing.T) {
	for slots, want := range map[int]int{
		0: 0, 1: 1, walkAtOnce: walkAtOnce, walkAtOnce + 1: walkAtOnce,
		walkSteps * walkAtOnce: walkAtOnce, walkSteps*walkAtOnce + 1: walkAtOnce + 1, 100 * walkSteps * walkAtOnce: 100 * walkAtOnce,
	} {
		if got := share(slots); got != want {
			t.Errorf("of %d: %d, want %d", slots, got, want)
		}
	}
}

// One who took the reader's role between the walk's look and its wake keeps it.
func TestWalkLosesToKick(t *testing.T) {
	c := newCrew(t, 1)
	var looks [batch]look
	if n, _, more := c.set.p.Load().next(&looks, -1); n != 1 || more {
		t.Fatalf("%d to look at, more: %v", n, more)
	}
	c.socks[0].closed.Store(true)
	c.hs[0].Kick()
	if !looks[0].h.orphaned() || looks[0].h.wakeGen(looks[0].gen) {
		t.Error("two readers")
	}
	c.socks[0].closed.Store(false)
	c.park(t, 0)
	if looks[0].h.wakeGen(looks[0].gen) {
		t.Error("a look at an earlier parking woke the handle")
	}
}

// The walk's timer runs while anyone is parked, and no longer.
func TestWalkPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew(t, 1)
		c.hs[0].Kick()
		c.set.pace = walkPace // from the next Park on
		walks := func() bool {
			return c.set.p.Load().walking.Load()
		}
		for range 3 {
			c.socks[0].closed.Store(false)
			woken := c.wakes[0].n
			c.park(t, 0)
			time.Sleep(5*walkPace + walkPace/2)
			if !walks() || c.wakes[0].n != woken {
				t.Errorf("walks: %v, woke %d times", walks(), c.wakes[0].n-woken)
			}
			c.socks[0].closed.Store(true)
			time.Sleep(walkPace)
			synctest.Wait()
			if c.wakes[0].n != woken+1 || walks() {
				t.Errorf("woke %d times, walks on: %v", c.wakes[0].n-woken, walks())
			}
		}
		c.socks[0].closed.Store(false)
		c.park(t, 0)
		p := c.set.p.Load()
		c.hs[0].Close()
		if p.walk.Stop() {
			t.Error("the timer outlives the poller")
		}
		p.stride() // one that was under way
		if p.walk.Stop() {
			t.Error("a stopped poller walks on")
		}
	})
}
