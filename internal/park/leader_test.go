// SPDX-License-Identifier: Apache-2.0

package park

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/internal/pulse"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/internal/warm"
)

// fakeWaiters is a backend with several waiters, which knows which one is the leader's.
type fakeWaiters struct {
	*fakeBackend
	t     *testing.T
	mu    sync.Mutex
	moved *sync.Cond
	all   [3]fakeWaiter
	leads int // waiters that are the leader's, and goroutines that are about to promote one: always one
	held  int
	ended bool
}

type fakeWaiter struct {
	of    *fakeWaiters
	armed bool
}

func newFakeWaiters(t *testing.T, k *fakeKernel) *fakeWaiters {
	f := &fakeWaiters{fakeBackend: &fakeBackend{fakeKernel: k}, t: t, leads: 1, held: 1}
	f.moved = sync.NewCond(&f.mu)
	for i := range f.all {
		f.all[i].of = f
	}
	f.all[0].armed = true
	return f
}

func (f *fakeWaiters) waiters() []waiter { return []waiter{&f.all[0], &f.all[1], &f.all[2]} }

func (f *fakeWaiters) hold() { f.count(1) }

func (f *fakeWaiters) release() { f.count(-1) }

func (f *fakeWaiters) count(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held += n
	f.moved.Broadcast()
}

// relieve takes the lead away from the waiter that has it.
func (f *fakeWaiters) relieve() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all[0].armed = false
	f.leads--
}

// setReady makes a descriptor readable, which the leader's waiter hears of.
func (f *fakeWaiters) setReady(fd int) {
	f.fakeKernel.setReady(fd, true)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.moved.Broadcast()
}

func (f *fakeWaiters) close() {
	f.mu.Lock()
	f.ended = true
	f.moved.Broadcast()
	f.mu.Unlock()
	f.release()
}

// gone waits until nobody holds the waiters.
func (f *fakeWaiters) gone() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.held > 0 {
		f.moved.Wait()
	}
}

func (p *fakeWaiter) wait(tokens []uint64) (int, error) {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	for {
		if p.of.ended {
			return 0, errors.New("fake: closed")
		}
		if p.armed {
			if taken := p.of.take(min(3, len(tokens))); len(taken) > 0 {
				p.armed = false
				p.of.leads--
				return copy(tokens, taken), nil
			}
		}
		p.of.moved.Wait()
	}
}

func (f *fakeWaiters) now(tokens []uint64) int { return copy(tokens, f.take(len(tokens))) }

func (p *fakeWaiter) promote() error {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	if p.of.ended {
		return errors.New("fake: closed")
	}
	if p.of.leads++; p.of.leads != 1 || p.armed {
		p.of.t.Errorf("%d waiters are the leader's", p.of.leads)
	}
	p.armed = true
	p.of.moved.Broadcast()
	return nil
}

// member is a connection that tells when it is heard of, and then does something else.
type member struct {
	fakeSocket
	h    Handle
	seen chan<- *member
	then func() // what its reader's goroutine does once it may be parked again
}

func (m *member) RawConn() syscall.RawConn { return &m.fakeSocket }

func (m *member) Wake() {
	m.then = nil
	m.seen <- m
}

func (m *member) Run() {
	then := m.then
	m.seen <- m
	then()
}

// Whatever the owners do that a goroutine of the poller runs, every event is heard of, and there is one
// leader.
func TestLeaderAndFollowers(t *testing.T) {
	const members, rounds = 20, 500
	k := newFakeKernel()
	f := newFakeWaiters(t, k)
	s := &set{open: func() (backend, error) { return f, nil }}
	rng := rand.New(rand.NewPCG(1, 2))
	seen := make(chan *member, members)
	unblock := make(chan struct{})
	var ran, ended, blocked atomic.Int32
	park := func(m *member) {
		m.then = func() { ran.Add(1) }
		switch rng.IntN(20) {
		case 0:
			m.then = func() { ended.Add(1); runtime.Goexit() }
		case 1:
			m.then = func() { blocked.Add(1); <-unblock }
		}
		k.setReady(m.fd, false)
		if err := m.h.Park(); err != nil {
			t.Fatal(err)
		}
	}
	all := make([]*member, members)
	for i := range all {
		m := &member{seen: seen}
		m.fd = i
		m.h.init(s, m)
		all[i] = m
		park(m)
	}
	for range rounds {
		burst := rng.Perm(members)[:1+rng.IntN(6)]
		for _, i := range burst {
			f.setReady(i)
		}
		for range burst {
			park(<-seen)
		}
		s.p.Load().followers.slowPenalty.Store(0) // or too few are run on a loaded machine
	}
	if ran.Load() == 0 || ended.Load() == 0 || blocked.Load() == 0 {
		t.Errorf("by the poller %d ran, %d ended the goroutine, %d blocked", ran.Load(), ended.Load(), blocked.Load())
	}
	close(unblock)
	for _, m := range all {
		m.h.Close()
	}
	f.gone()
}

// A goroutine of the poller on which a handler has left its thread locked is replaced before long.
func TestLockedThreadIsNotKept(t *testing.T) {
	const runs, most = 1000, 256
	k := newFakeKernel()
	f := newFakeWaiters(t, k)
	s := &set{open: func() (backend, error) { return f, nil }}
	seen := make(chan *member, 1)
	m := &member{seen: seen}
	m.h.init(s, m)
	ran := make(chan string, 1)
	each := map[string]int{}
	for n := 0; n < runs; {
		m.then = func() {
			runtime.LockOSThread()
			b := make([]byte, 64)
			id, _, _ := strings.Cut(string(b[:runtime.Stack(b, false)]), "[")
			ran <- id
		}
		k.setReady(m.fd, false)
		if err := m.h.Park(); err != nil {
			t.Fatal(err)
		}
		f.setReady(m.fd)
		if <-seen; m.then != nil {
			each[<-ran]++
			n++
		}
		s.p.Load().followers.slowPenalty.Store(0)
	}
	for id, n := range each {
		if n > most {
			t.Errorf("%sran %d tasks with its thread locked", id, n)
		}
	}
	m.h.Close()
	f.gone()
}

// After one that took long others are read by other goroutines for a while.
func TestSlowPenalty(t *testing.T) {
	synctest.Test(t, testSlowPenalty)
}

func testSlowPenalty(t *testing.T) {
	p := &poller{}
	p.followers.ready = make(chan waiter, 1)
	p.followers.free = make(chan waiter, 1)
	m := &member{seen: make(chan *member, 1), then: func() { time.Sleep(2 * maxInline) }}
	m.h.init(nil, m)
	p.readOn(&m.h, nil, nil, new(warm.Goroutine))
	for i := range slowPenalty {
		p.followers.ready <- onlyWaiter{}
		if p.promoteFollower() {
			t.Fatalf("a follower was promoted after %d events", i)
		}
		<-p.followers.ready
	}
	p.followers.ready <- onlyWaiter{}
	if !p.promoteFollower() {
		t.Error("no follower is promoted any more")
	}
}

// Where each task is to have a goroutine of its own, no goroutine of the poller reads, and so it takes all events
// that there are.
func TestPollerReadsNothing(t *testing.T) {
	if !testutils.InChild(t, "GRPC_GO_EXPERIMENTAL_REUSE_GOROUTINES=false") { // Forbid is for the whole process
		return
	}
	warm.Forbid()
	p := &poller{}
	p.followers.ready = make(chan waiter, 1)
	p.followers.ready <- onlyWaiter{}
	if p.promoteFollower() {
		t.Error("a follower takes the lead, and the leader reads")
	}
	p.multi = newFakeWaiters(t, newFakeKernel())
	for !pulse.On() {
		pulse.Event()
	}
	if n := p.atOnce(); n != batch {
		t.Errorf("%d events are taken at once, want %d", n, batch)
	}
}

// While events are thick, who has read a connection reads those that have input by then, too; and
// leaves them to others once that has taken a while.
func TestReadOn(t *testing.T) {
	const members = 10
	for name, slow := range map[string]bool{"at once": false, "after a while": true} {
		t.Run(name, func(t *testing.T) {
			for !t.Failed() && !testReadOn(t, members, slow) {
			}
		})
	}
}

// testReadOn reports whether events were thick all the time, and nobody else had the processor.
func testReadOn(t *testing.T, members int, slow bool) bool {
	k := newFakeKernel()
	f := newFakeWaiters(t, k)
	s := &set{open: func() (backend, error) { return f, nil }}
	seen := make(chan *member, members)
	ran := 0
	all := make([]*member, members)
	for i := range all {
		m := &member{seen: seen}
		m.then = func() {
			if ran++; slow && ran <= 2 {
				spin(2 * maxInline / 3)
			}
		}
		m.fd = i
		m.h.init(s, m)
		if all[i] = m; m.h.Park() != nil {
			t.Fatal("not parked")
		}
	}
	f.relieve()
	for _, m := range all {
		k.setReady(m.fd, true)
	}
	for !pulse.On() {
		pulse.Event()
	}
	p := s.p.Load()
	var tokens [batch]uint64
	var throttle wakeThrottle
	start := time.Now()
	p.readOn(p.rouse(tokens[:f.now(tokens[:1])]), tokens[:], &throttle, new(warm.Goroutine))
	calm := pulse.On() && p.followers.slowPenalty.Load() == 0 && (slow || time.Since(start) < maxInline)
	woken := len(seen) - ran
	for _, m := range all {
		m.h.Close()
	}
	f.gone()
	want := members
	if slow {
		want = 2
	}
	if calm && (ran != want || woken != members-want) {
		t.Errorf("%d were read, %d woken, of %d", ran, woken, members)
	}
	return calm
}

// spin computes for a while.
func spin(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
	}
}
