// SPDX-License-Identifier: Apache-2.0

package park

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Quieter is what a Sweeper watches.
type Quieter interface {
	// Quiet is called when nothing was touched for a whole period. The sweeper calls it without locks, on
	// its own goroutine, and it must not block. The call may come late, after a Remove or a Touch that ran
	// at the same time as the sweep: Quiet has to look again before it believes that the connection is
	// quiet.
	Quiet()
}

// Entry is a connection's place in a Sweeper, meant to be a field of the connection. The zero value is in
// no Sweeper.
type Entry struct {
	touched atomic.Bool

	// guarded by the sweeper's mu
	prev, next *Entry
	owner      Quieter
	round      uint32 // the last sweep that looked at it
	tries      bool   // it is there by Try
}

// Touch notes activity. It is cheap enough for every read.
func (e *Entry) Touch() {
	if !e.touched.Load() { // spares the cache line when reads are frequent
		e.touched.Store(true)
	}
}

// Sweeper finds the entries that were not touched for a whole period, with one
// timer for all of them, and none when there are no entries. Its methods are
// safe for concurrent use.
type Sweeper struct {
	period time.Duration
	steady bool // it sweeps once a period, however many entries there are

	mu    sync.Mutex
	root  Entry // of a ring; next is the entry looked at longest ago
	n     int
	tries int // how many of them are there by Try
	round uint32
	armed bool // a sweep is due or under way
}

// newSweeper returns a sweeper that looks once a period, or more often: see sweepStep.
func newSweeper(period time.Duration) *Sweeper {
	s := &Sweeper{period: period}
	s.root.prev, s.root.next = &s.root, &s.root
	return s
}

// NewSteadySweeper returns a sweeper that looks once a period, however many entries there are.
func NewSteadySweeper(period time.Duration) *Sweeper {
	s := newSweeper(period)
	s.steady = true
	return s
}

// processSweeper is the sweeper that all connections share, but those that the system has refused to watch.
var processSweeper = newSweeper(Linger)

// RetryPeriod is how long a connection waits that the system has refused to watch before it asks again, and the
// period of a RetrySweeper. A system that refuses is out of something, such as descriptors, for a while; and to
// ask costs what it costs to park and to wake, for each connection.
const RetryPeriod = time.Minute

var processRetries = NewSteadySweeper(RetryPeriod)

// Add watches e for q, as if e was touched right now. An entry that is watched already stays, touched. When
// Quiet is called for an entry, that is out again: for one Add there is at most one Quiet. An entry belongs
// to one sweeper at a time.
func (s *Sweeper) Add(e *Entry, q Quieter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(e, q)
}

// MaxTries is how many entries may be there by Try at a time.
const MaxTries = 64

// Try does what Add does, for a connection that will probably be quiet. It fails if MaxTries others of that
// kind are watched at the moment. Connections that all have input in the same bursts have all learned the
// same, and would all wait in vain after the same burst.
func (s *Sweeper) Try(e *Entry, q Quieter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.next == nil {
		if s.tries == MaxTries {
			return false
		}
		s.tries++
		e.tries = true
	}
	s.add(e, q)
	return true
}

// Trust makes e, if it is there by Try, count as if it was there by Add: its connection had input after
// all.
func (s *Sweeper) Trust(e *Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tried(e)
}

// tried ends the try of e, if e is there by Try. The caller must hold mu.
func (s *Sweeper) tried(e *Entry) {
	if e.tries {
		e.tries = false
		s.tries--
	}
}

// add is Add. The caller must hold mu.
func (s *Sweeper) add(e *Entry, q Quieter) {
	e.Touch()
	e.owner = q
	if e.next != nil {
		return
	}
	e.round = s.round
	s.push(e)
	if !s.armed {
		s.armed = true
		time.AfterFunc(s.pause(), s.sweep)
	}
}

// sweepStep is a number of entries: for each further sweepStep of them the sweeper looks more often, up to
// ten times as often. A connection that lingers has a goroutine, and the runtime never frees what it needs
// for the largest number of goroutines that there ever was.
const sweepStep = 256

// pause returns how long to wait before the next sweep. The caller must hold mu.
func (s *Sweeper) pause() time.Duration {
	if s.steady {
		return s.period
	}
	return max(s.period/time.Duration(1+s.n/sweepStep), s.period/10)
}

// Remove stops watching e, and reports whether e was watched. If not, its Quiet may be about to be called.
func (s *Sweeper) Remove(e *Entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.next == nil {
		return false
	}
	s.unlink(e)
	s.tried(e)
	return true
}

// Len returns how many entries are watched.
func (s *Sweeper) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

// sweepChunk bounds how many entries are looked at under one hold of the lock.
const sweepChunk = 256

// sweep looks at each entry once, and stops the timer if none is left.
func (s *Sweeper) sweep() {
	s.mu.Lock()
	s.round++
	s.mu.Unlock()
	s.look(nil)
}

// look tells those of found first, and then what is quiet of the entries that this round has not looked at. If code
// of the program, such as a wrapper's SetReadDeadline, ends the goroutine, another one goes on.
func (s *Sweeper) look(found []Quieter) {
	left := true
	defer func() {
		if left {
			go s.look(slices.Clone(found))
		}
	}()
	var quiet [sweepChunk]Quieter
	for more := true; more || len(found) > 0; {
		for len(found) > 0 {
			q := found[0]
			found[0] = nil
			found = found[1:]
			q.Quiet()
		}
		if more {
			var n int
			n, more = s.chunk(&quiet)
			found = quiet[:n]
		}
	}
	left = false
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.armed = s.n > 0; s.armed {
		// A new timer each time: it belongs to nobody between two sweeps.
		time.AfterFunc(s.pause(), s.sweep)
	}
}

// chunk takes the quiet entries out of the next ones. more says that there are entries left that this round
// has not looked at.
func (s *Sweeper) chunk(quiet *[sweepChunk]Quieter) (n int, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range sweepChunk {
		e := s.root.next
		if e == &s.root || e.round == s.round {
			return n, false
		}
		s.unlink(e)
		if e.touched.Swap(false) {
			e.round = s.round
			s.push(e)
			continue
		}
		s.tried(e)
		quiet[n] = e.owner
		n++
		e.owner = nil
	}
	return n, true
}

func (s *Sweeper) push(e *Entry) {
	e.prev, e.next = s.root.prev, &s.root
	e.prev.next, s.root.prev = e, e
	s.n++
}

func (s *Sweeper) unlink(e *Entry) {
	e.prev.next, e.next.prev = e.next, e.prev
	e.prev, e.next = nil, nil
	s.n--
}
