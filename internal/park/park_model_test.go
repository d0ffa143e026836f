// SPDX-License-Identifier: Apache-2.0

package park

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// model plays one connection's life against the fake kernel, one step at a time
// but also in the middle of Park, and knows who must hold the reader's role.
type model struct {
	t   *testing.T
	rng interface{ IntN(int) int } // what comes next
	s   *set
	k   kernel
	h   Handle
	fd  int

	role   bool // somebody is the reader
	over   bool // the peer has closed, which counts as input for ever
	kicks  bool // a note must be waiting
	ended  bool // Close was called
	exits  int  // runs of the exit path
	passed []string
}

func (m *model) Wake() {
	m.passed = append(m.passed, "wake")
	if m.role {
		m.fatal("two readers")
	}
	m.role = true
}

func (m *model) fatal(what string) { m.t.Helper(); m.t.Fatalf("%s after %v", what, m.passed) }

func (m *model) data() { m.k.setReady(m.fd, true) }

// end is what the peer does at its end: kernels tell of it (EPOLLRDHUP, EV_EOF, an aborted
// poll) as of input, whether there is any.
func (m *model) end() {
	m.over = true
	m.data()
}

func (m *model) deliver() {
	if p := m.s.p.Load(); p != nil {
		deliver(p, m.k.take(1+m.rng.IntN(2)))
	}
}

// kick is what a new stream, a writer or a deadline do.
func (m *model) kick() {
	won := m.h.Kick()
	switch {
	case m.ended && won, !m.ended && won == m.role:
		m.fatal("kick won wrongly, or lost")
	case won:
		m.role = true
	case !m.ended:
		m.kicks = true
	}
}

// take is what a goroutine does that is going to wait for a message.
func (m *model) take() {
	won := m.h.Take()
	if won != (!m.ended && !m.role) {
		m.fatal("take won wrongly, or lost")
	}
	m.role = m.role || won
}

func (m *model) close() {
	if won := m.h.Close(); won != (!m.ended && !m.role) {
		m.fatal("close won wrongly, or lost")
	} else if won {
		m.exits++
	}
	m.ended = true
}

// read is the reader at work: it takes what there is, and parks.
func (m *model) read() {
	if !m.role {
		return
	}
	if m.rng.IntN(3) > 0 && !m.over {
		m.k.setReady(m.fd, false)
	}
	m.park()
}

func (m *model) park() {
	m.k.setOnArm(func() { // the word says parked, the kernel doesn't know yet
		m.role = false
		switch m.rng.IntN(4) {
		case 0:
			m.kick()
		case 1:
			m.data()
		case 2:
			m.deliver()
		}
	})
	err := m.h.Park()
	m.k.setOnArm(nil)
	switch {
	case m.ended:
		if err != ErrClosed {
			m.fatal("parked although closed")
		}
		m.exits++
		m.role = false
	case m.kicks:
		if err != ErrKicked {
			m.fatal("a kick was forgotten")
		}
		m.kicks = false
	case err != nil:
		m.fatal(err.Error())
	}
}

// check: a parked connection with input has an event under way, and the other
// things that hold between any two steps.
func (m *model) check() {
	if m.h.Parked() && (m.role || m.ended) || !m.h.Parked() && !m.role && !m.ended {
		m.fatal("the handle and the model differ about the role")
	}
	if m.h.Parked() && m.k.isReady(m.fd) && !m.k.promised(m.fd, tokenOf(m.h.slot, m.h.gen)) {
		m.fatal("lost wake")
	}
	if m.exits > 1 {
		m.fatal("two exits")
	}
}

func TestModel(t *testing.T) {
	for _, system := range []struct {
		name string
		k    func() kernel
	}{
		{"epoll", func() kernel { return newFakeKernel() }},
		{"kqueue", func() kernel { return newFakeKqueue() }},
		{"windows", func() kernel { return newFakeDriver() }},
	} {
		t.Run(system.name, func(t *testing.T) {
			for seed := range uint64(3000) {
				playModel(t, system.k(), seed)
			}
		})
	}
}

// modelStep is something that can happen at any time.
type modelStep struct {
	name string
	f    func(*model)
}

var modelSteps = []modelStep{
	{"data", (*model).data},
	{"kick", (*model).kick},
	{"take", (*model).take},
	{"read", (*model).read},
	{"deliver", (*model).deliver},
}

func playModel(t *testing.T, k kernel, seed uint64) {
	steps := slices.Concat(modelSteps, modelSteps[3:]) // who reads and delivers does so more often
	s := &set{open: k.open}
	rng := rand.New(rand.NewPCG(seed, 1))
	// Several generations of connections on two descriptors, so that slots
	// and descriptors are reused with events still under way.
	var keep Handle
	keep.init(s, owned{&fakeSocket{fd: 99}, new(wakes)})
	keep.Park()
	for gen := range 4 {
		m := &model{t: t, rng: rng, s: s, k: k, fd: gen % 2, role: true}
		socket := &fakeSocket{fd: m.fd}
		m.h.init(s, owned{socket, m})
		k.setReady(m.fd, false)
		for range 5 + rng.IntN(30) {
			step := steps[rng.IntN(len(steps))]
			if rng.IntN(40) == 0 {
				step.name, step.f = "end", (*model).end
			}
			m.passed = append(m.passed, step.name)
			step.f(m)
			m.check()
		}
		m.passed = append(m.passed, "close")
		if rng.IntN(2) == 0 { // the socket goes first
			socket.closed.Store(true)
			k.closed(m.fd)
		}
		m.close()
		if socket.closed.CompareAndSwap(false, true) {
			k.closed(m.fd)
		}
		for range 3 {
			m.read()
			m.deliver()
			m.kick()
			m.take()
			m.close()
		}
		if m.exits != 1 {
			m.fatal("the exit path did not run once")
		}
	}
	keep.Close()
	wantStats(t, s, Stats{})
}
