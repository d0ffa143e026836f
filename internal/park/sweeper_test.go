// SPDX-License-Identifier: Apache-2.0

package park

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

type quietConn struct {
	Entry
	mu    sync.Mutex
	at    []time.Duration // since start
	start time.Time
	again *Sweeper // to Add to from Quiet
}

func (c *quietConn) times() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *quietConn) Quiet() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = append(c.at, time.Since(c.start))
	if c.again != nil {
		c.again.Add(&c.Entry, c)
		c.again = nil
	}
}

func TestSweeper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSweeper(Linger)
		start := time.Now()
		busy, idle := &quietConn{start: start}, &quietConn{start: start}
		removed, again := &quietConn{start: start}, &quietConn{start: start, again: s}
		for _, c := range []*quietConn{busy, idle, removed, again} {
			s.Add(&c.Entry, c)
		}
		s.Add(&busy.Entry, busy)
		time.Sleep(Linger / 2)
		s.Remove(&removed.Entry)
		s.Remove(&removed.Entry)
		if s.Len() != 3 {
			t.Errorf("%d entries", s.Len())
		}
		for range 10 {
			busy.Touch()
			time.Sleep(Linger)
		}
		synctest.Wait()
		check := func(name string, c *quietConn, want ...time.Duration) {
			t.Helper()
			if got := c.times(); !slices.Equal(got, want) {
				t.Errorf("%s: quiet at %v, want %v", name, got, want)
			}
		}
		check("busy", busy)
		check("idle", idle, 2*Linger)
		check("removed", removed)
		check("added again", again, 2*Linger, 4*Linger)

		// Touched last at 9.5 periods: the sweep at 10 sees that, the one at 11
		// finds it quiet.
		time.Sleep(Linger)
		synctest.Wait()
		check("no longer busy", busy, 11*Linger)
		// With nobody left there is no timer, or it would count rounds.
		round := s.rounds()
		time.Sleep(10 * Linger)
		if s.rounds() != round || s.Len() != 0 {
			t.Error("the sweeper runs on with nobody to look at")
		}
		s.Add(&idle.Entry, idle)
		time.Sleep(3 * Linger)
		synctest.Wait()
		if len(idle.times()) != 2 {
			t.Error("the sweeper did not start again")
		}
	})
}

// More entries than one hold of the lock covers: all are seen, each once.
func TestSweeperManyEntries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSweeper(Linger)
		touched := func(i int) bool { return i >= 2*sweepChunk && i%2 == 0 }
		conns := make([]quietConn, 3*sweepChunk+7)
		conns[1].again = s // while the same sweep has more to look at
		for i := range conns {
			conns[i].start = time.Now()
			s.Add(&conns[i].Entry, &conns[i])
		}
		time.Sleep(Linger + 1) // the first sweep was set when there were few
		for i := range conns {
			if touched(i) {
				conns[i].Touch()
			}
		}
		time.Sleep(Linger)
		synctest.Wait()
		for i := range conns {
			if n := len(conns[i].times()); (n == 0) != touched(i) || n > 1 {
				t.Fatalf("entry %d: %d times quiet", i, n)
			}
		}
		time.Sleep(2 * Linger)
		synctest.Wait()
		if s.Len() != 0 {
			t.Errorf("%d entries left", s.Len())
		}
		if got := conns[1].times(); len(got) != 2 || got[0] >= 2*Linger {
			t.Errorf("one of many, added again during a sweep: quiet at %v", got)
		}
	})
}

// Of those who expect nothing only so many are there at a time. Each that is quiet, removed or
// trusted makes place for another.
func TestSweeperTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSweeper(Linger)
		conns := make([]quietConn, MaxTries+3)
		try := func(i, want int) {
			t.Helper()
			if s.Try(&conns[i].Entry, &conns[i]); s.Len() != want {
				t.Fatalf("%d entries after number %d has tried, want %d", s.Len(), i, want)
			}
		}
		for i := range MaxTries {
			try(i, i+1)
		}
		try(0, MaxTries) // which is there
		late := MaxTries
		try(late, MaxTries)
		s.Add(&conns[late].Entry, &conns[late])
		try(late, MaxTries+1) // it is there by Add
		s.Remove(&conns[late].Entry)
		try(late, MaxTries)

		s.Remove(&conns[0].Entry)
		try(late, MaxTries)
		s.Trust(&conns[1].Entry)
		try(late+1, MaxTries+1)
		try(late+2, MaxTries+1)
		time.Sleep(3 * Linger)
		synctest.Wait()
		for i := range MaxTries {
			s.Trust(&conns[i].Entry) // too late
			try(i, i+1)
		}
		try(late, MaxTries)
		time.Sleep(3 * Linger)
	})
}

func (s *Sweeper) rounds() uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.round
}

type countQuiet struct {
	Entry
	n atomic.Int64
}

func (c *countQuiet) Quiet() { c.n.Add(1) }

// Everything at once, for the race detector and the ring's links.
func TestSweeperConcurrent(t *testing.T) {
	s := newSweeper(100 * time.Microsecond)
	conns := make([]countQuiet, 500)
	var wg sync.WaitGroup
	for g := range uint64(4) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(g, 2))
			for range 5000 {
				c := &conns[rng.IntN(len(conns))]
				switch rng.IntN(5) {
				case 0:
					s.Add(&c.Entry, c)
				case 1:
					c.Touch()
				case 2:
					s.Remove(&c.Entry)
				case 3:
					s.Try(&c.Entry, c)
				case 4:
					s.Trust(&c.Entry)
				}
			}
		})
	}
	wg.Wait()
	for i := range conns {
		s.Remove(&conns[i].Entry)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n != 0 || s.tries != 0 || s.root.next != &s.root || s.root.prev != &s.root {
		t.Errorf("%d entries left, %d of them tries, or a broken ring", s.n, s.tries)
	}
}

func BenchmarkTouch(b *testing.B) {
	var e Entry
	for b.Loop() {
		e.Touch()
	}
}

// leavingConn ends the goroutine that tells it.
type leavingConn struct{ quietConn }

func (c *leavingConn) Quiet() { c.quietConn.Quiet(); runtime.Goexit() }

// All are told, once, also if some end the goroutine.
func TestQuietEndsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSweeper(Linger)
		conns := make([]leavingConn, sweepChunk+10)
		for round := range 2 {
			for i := range conns {
				s.Add(&conns[i].Entry, &conns[i])
			}
			time.Sleep(3 * Linger)
			synctest.Wait()
			for i := range conns {
				if n := len(conns[i].times()); n != round+1 {
					t.Fatalf("connection %d was told %d times", i, n)
				}
			}
		}
		if n := s.Len(); n != 0 {
			t.Errorf("%d are watched", n)
		}
	})
}
