// SPDX-License-Identifier: Apache-2.0

package park

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// fakePosts is a backend with several posts, which knows where the watch is.
type fakePosts struct {
	*fakeBackend
	t     *testing.T
	mu    sync.Mutex
	moved *sync.Cond
	all   [3]fakePost
	watch int // the posts that have it, and those who have it in hand: always one
	held  int
	ended bool
}

type fakePost struct {
	of    *fakePosts
	armed bool
}

func newFakePosts(t *testing.T, k *fakeKernel) *fakePosts {
	f := &fakePosts{fakeBackend: &fakeBackend{fakeKernel: k}, t: t, watch: 1, held: 1}
	f.moved = sync.NewCond(&f.mu)
	for i := range f.all {
		f.all[i].of = f
	}
	f.all[0].armed = true
	return f
}

func (f *fakePosts) posts() []post { return []post{&f.all[0], &f.all[1], &f.all[2]} }

func (f *fakePosts) hold() { f.count(1) }

func (f *fakePosts) release() { f.count(-1) }

func (f *fakePosts) count(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held += n
	f.moved.Broadcast()
}

// setReady makes a descriptor readable, which is heard of at the post that is armed.
func (f *fakePosts) setReady(fd int) {
	f.fakeKernel.setReady(fd, true)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.moved.Broadcast()
}

func (f *fakePosts) close() {
	f.mu.Lock()
	f.ended = true
	f.moved.Broadcast()
	f.mu.Unlock()
	f.release()
}

// gone waits until nobody holds the posts.
func (f *fakePosts) gone() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.held > 0 {
		f.moved.Wait()
	}
}

func (p *fakePost) wait(tokens []uint64) (int, error) {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	for {
		if p.of.ended {
			return 0, errors.New("fake: closed")
		}
		if p.armed {
			if taken := p.of.take(3); len(taken) > 0 {
				p.armed = false
				p.of.watch--
				return copy(tokens, taken), nil
			}
		}
		p.of.moved.Wait()
	}
}

func (p *fakePost) arm() error {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	if p.of.ended {
		return errors.New("fake: closed")
	}
	if p.of.watch++; p.of.watch != 1 || p.armed {
		p.of.t.Errorf("%d posts have the watch", p.of.watch)
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

// Whatever those do who are run by who was on watch, everybody is heard of, and one has the
// watch.
func TestRelay(t *testing.T) {
	const members, rounds = 20, 500
	k := newFakeKernel()
	f := newFakePosts(t, k)
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
		s.p.Load().relay.shy.Store(0) // or too few are run on a loaded machine
	}
	if ran.Load() == 0 || ended.Load() == 0 || blocked.Load() == 0 {
		t.Errorf("by who was on watch %d ran, %d ended the goroutine, %d blocked", ran.Load(), ended.Load(), blocked.Load())
	}
	close(unblock)
	for _, m := range all {
		m.h.Close()
	}
	f.gone()
}

// After one that took long others are read by other goroutines for a while.
func TestRelayIsShy(t *testing.T) {
	synctest.Test(t, testRelayIsShy)
}

func testRelayIsShy(t *testing.T) {
	p := &poller{}
	p.relay.ready = make(chan post, 1)
	p.relay.free = make(chan post, 1)
	p.relay.run(&member{seen: make(chan *member, 1), then: func() { time.Sleep(2 * brief) }})
	for i := range shyness {
		p.relay.ready <- sole{}
		if p.relieved() {
			t.Fatalf("relieved after %d events", i)
		}
		<-p.relay.ready
	}
	p.relay.ready <- sole{}
	if !p.relieved() {
		t.Error("shy for good")
	}
}
