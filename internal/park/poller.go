// SPDX-License-Identifier: Apache-2.0

package park

import (
	"sync"
	"sync/atomic"
	"time"
)

// backend is the kernel's side. Only wait blocks. arm and disarm are called
// between newBackend and close, wait by one goroutine until it fails.
type backend interface {
	// arm asks for one event with this token when fd is readable, at its end,
	// or in error; at once if it is so now. It replaces an earlier arming.
	// first says that fd is new.
	arm(fd int, token uint64, first bool) error
	// disarm forgets fd.
	disarm(fd int)
	// wait blocks until there are events, and puts their tokens into tokens.
	wait(tokens []uint64) (int, error)
	// close makes wait fail.
	close()
}

// batch is how many events one look at the kernel takes.
const batch = 128

// Stats counts handles.
type Stats struct {
	// Parked connections wait without a goroutine.
	Parked int64
	// Registered ones have parked at some time and aren't closed.
	Registered int64
}

// ReadStats returns the process's counts at about this moment.
func ReadStats() Stats { return process.stats() }

// Supported reports whether this system can wait for sockets without a
// goroutine each.
func Supported() bool { return supported }

// process is the set of all connections. Tests have others.
var process = set{open: newBackend, pace: walkPace}

// set is a group of handles with one poller, which runs while any of them is
// registered. To park and to wake takes nothing of it that another handle waits for.
type set struct {
	open   func() (backend, error)
	pace   time.Duration // of the walk; 0: there is none
	parked tally
	p      atomic.Pointer[poller] // nil: nobody is registered. Written with mu held.

	mu  sync.Mutex
	err error // the poller failed; no further parking
}

// poller is a running backend. Its table is its own: an event that a stopped
// poller still has in hand finds nobody there.
type poller struct {
	set     *set
	backend backend
	table   table
	failed  atomic.Bool // set.err is there
	walking atomic.Bool // there will be a next step of the walk

	// guarded by set.mu
	walk   *time.Timer // its next step; nil: there was none yet
	walked int         // where in the table it is
}

func (s *set) stats() Stats {
	st := Stats{Parked: s.parked.sum()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.p.Load(); p != nil {
		st.Registered = int64(p.table.used)
	}
	return st
}

// register gives h a slot. h.mu is held.
func (s *set) register(h *Handle) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	p := s.p.Load()
	if p == nil {
		be, err := s.open()
		if err != nil {
			return err
		}
		p = &poller{set: s, backend: be}
		s.p.Store(p)
		go p.run()
	}
	h.slot, h.gen = p.table.add(h)
	return nil
}

// unregister takes h's slot back, and stops the poller if it was the last.
// h.mu is held.
func (s *set) unregister(h *Handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.p.Load()
	p.table.remove(h.slot, h.gen)
	h.slot = 0
	if p.table.used == 0 {
		p.stopWalking()
		p.backend.close()
		s.p.Store(nil)
		s.err = nil
	}
}

// backend returns the backend for a registered handle: it neither changes nor
// closes as long as that stays registered. It fails once the poller has. parks says
// that the handle is parked, or was a moment ago.
func (s *set) backend(parks bool) (backend, error) {
	p := s.p.Load()
	if p.failed.Load() {
		s.mu.Lock()
		defer s.mu.Unlock()
		return p.backend, s.err
	}
	if parks {
		p.keepWalking()
	}
	return p.backend, nil
}

func (p *poller) run() {
	var tokens [batch]uint64
	for {
		n, err := p.backend.wait(tokens[:])
		if err != nil {
			p.fail(err)
			return
		}
		p.deliver(tokens[:n])
	}
}

// deliver wakes whom the events are for and still concern.
func (p *poller) deliver(tokens []uint64) {
	for _, token := range tokens {
		index, gen := splitToken(token)
		if h := p.table.get(index); h != nil && h.wakeGen(gen) {
			h.owner.Wake()
		}
	}
}

// fail is the end of the poller's goroutine: by close, or because the system
// refuses to wait. Nobody may then stay parked. All are woken, and their next
// Park fails, so that they wait in reads.
func (p *poller) fail(err error) {
	p.set.mu.Lock()
	var all []*Handle
	if p.set.p.Load() == p {
		p.set.err = err
		p.failed.Store(true)
		for i := range p.table.n {
			if h := p.table.get(i + 1); h != nil {
				all = append(all, h)
			}
		}
	}
	p.set.mu.Unlock()
	for _, h := range all {
		if h.Kick() {
			h.owner.Wake()
		}
	}
}
