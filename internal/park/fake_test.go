// SPDX-License-Identifier: Apache-2.0

package park

import (
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// fakeKernel is a backend without a kernel: descriptors are ready when a test
// says so. Its wait only ends with an error; tests deliver events themselves.
type fakeKernel struct {
	mu     sync.Mutex
	armed  map[int]uint64
	ready  map[int]bool
	events []uint64
	known  map[int]bool // armed once and not disarmed
	armErr error
	onArm  func() // between the word and the kernel
	opened int
	last   *fakeBackend
}

// fakeBackend is one opening of the kernel.
type fakeBackend struct {
	*fakeKernel
	end chan error
}

func newFakeKernel() *fakeKernel {
	return &fakeKernel{armed: map[int]uint64{}, ready: map[int]bool{}, known: map[int]bool{}}
}

func (k *fakeKernel) open() (backend, error) {
	k.opened++
	k.last = &fakeBackend{fakeKernel: k, end: make(chan error, 2)}
	return k.last, nil
}

func (k *fakeKernel) arm(fd int, token uint64, first bool) error {
	if k.onArm != nil {
		k.onArm()
	}
	if k.armErr != nil {
		return k.armErr
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if first == k.known[fd] {
		return errors.New("fake: first arming and later ones mixed up")
	}
	k.known[fd], k.armed[fd] = true, token
	k.fire(fd)
	return nil
}

func (k *fakeKernel) disarm(fd int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.known, fd)
	delete(k.armed, fd)
}

func (k *fakeKernel) calm(fd int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.armed, fd)
}

// setReady makes a descriptor readable or not.
func (k *fakeKernel) setReady(fd int, ready bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ready[fd] = ready
	k.fire(fd)
}

// fire is the kernel's one-shot: mu is held.
func (k *fakeKernel) fire(fd int) {
	if token, ok := k.armed[fd]; ok && k.ready[fd] {
		k.events = append(k.events, token)
		delete(k.armed, fd)
	}
}

// closed drops what the kernel knows of a descriptor. Its registration may stay, with a
// duplicate; the next arming says first all the same.
func (k *fakeKernel) closed(fd int) { k.disarm(fd) }

func (k *fakeKernel) isReady(fd int) bool { return k.ready[fd] }

func (k *fakeKernel) setOnArm(f func()) { k.onArm = f }

func (k *fakeKernel) promised(_ int, token uint64) bool { return slices.Contains(k.events, token) }

// take removes what wait would return.
func (k *fakeKernel) take(n int) []uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	n = min(n, len(k.events), batch)
	taken := append([]uint64(nil), k.events[:n]...)
	k.events = k.events[n:]
	return taken
}

func (b *fakeBackend) wait([]uint64) (int, error) { return 0, <-b.end }

func (b *fakeBackend) close() { b.end <- errors.New("fake: closed") }

// fakeSocket is a RawConn with a number and nothing behind it.
type fakeSocket struct {
	fd     int
	closed atomic.Bool
}

func (s *fakeSocket) Control(f func(uintptr)) error {
	if s.closed.Load() {
		return net.ErrClosed
	}
	f(uintptr(s.fd))
	return nil
}

func (s *fakeSocket) Read(func(uintptr) bool) error  { return syscall.ENOSYS }
func (s *fakeSocket) Write(func(uintptr) bool) error { return syscall.ENOSYS }

// owned is an Owner made of its two parts.
type owned struct {
	rc syscall.RawConn
	waker
}

type waker interface{ Wake() }

func (o owned) RawConn() syscall.RawConn { return o.rc }

func (o owned) Run() { o.Wake() }

type wakes struct{ n int }

func (w *wakes) Wake() { w.n++ }

func fakeSet() (*set, *fakeKernel) {
	k := newFakeKernel()
	return &set{open: k.open}, k
}

func wantStats(t *testing.T, s *set, want Stats) {
	t.Helper()
	if got := s.stats(); got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
}

// deliver is what a goroutine of the poller does with events that nobody relieves it for.
func deliver(p *poller, tokens []uint64) {
	if h := p.rouse(tokens); h != nil {
		h.owner.Wake()
	}
}
