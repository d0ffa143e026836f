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
// registered.
type set struct {
	open   func() (backend, error)
	pace   time.Duration // of the walk; 0: there is none
	parked atomic.Int64

	mu  sync.Mutex
	p   *poller // nil: nobody is registered
	err error   // the poller failed; no further parking
}

// poller is a running backend. Its table is its own: an event that a stopped
// poller still has in hand finds nobody there.
type poller struct {
	set     *set
	backend backend

	// guarded by set.mu
	table  table
	walk   *time.Timer // its next step; nil: nobody is parked
	walked int         // where in the table it is
}

func (s *set) stats() Stats {
	st := Stats{Parked: s.parked.Load()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.p != nil {
		st.Registered = int64(s.p.table.used)
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
	if s.p == nil {
		be, err := s.open()
		if err != nil {
			return err
		}
		s.p = &poller{set: s, backend: be}
		go s.p.run()
	}
	h.slot, h.gen = s.p.table.add(h)
	return nil
}

// unregister takes h's slot back, and stops the poller if it was the last.
// h.mu is held.
func (s *set) unregister(h *Handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.p.table.remove(h.slot, h.gen)
	h.slot = 0
	if s.p.table.used == 0 {
		s.p.stopWalking()
		s.p.backend.close()
		s.p = nil
		s.err = nil
	}
}

// backend returns the backend for a registered handle: it neither changes nor
// closes as long as that stays registered. It fails once the poller has. parks says
// that the handle is about to be parked.
func (s *set) backend(parks bool) (backend, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if parks && s.err == nil {
		s.p.keepWalking()
	}
	return s.p.backend, s.err
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
	var found [batch]*Handle
	p.find(tokens, found[:])
	for i, token := range tokens {
		_, gen := splitToken(token)
		if h := found[i]; h != nil && h.wakeGen(gen) {
			h.owner.Wake()
		}
	}
}

// find looks up who the events are for, all under one lock.
func (p *poller) find(tokens []uint64, found []*Handle) {
	p.set.mu.Lock()
	defer p.set.mu.Unlock()
	for i, token := range tokens {
		index, _ := splitToken(token)
		found[i] = p.table.get(index)
	}
}

// fail is the end of the poller's goroutine: by close, or because the system
// refuses to wait. Nobody may then stay parked. All are woken, and their next
// Park fails, so that they wait in reads.
func (p *poller) fail(err error) {
	p.set.mu.Lock()
	var all []*Handle
	if p.set.p == p {
		p.set.err = err
		for _, s := range p.table.slots {
			if s.h != nil {
				all = append(all, s.h)
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
