// SPDX-License-Identifier: Apache-2.0

package park

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
)

// kernel is what the model plays against: descriptors that are ready when it says so.
type kernel interface {
	open() (backend, error)
	// setReady makes a descriptor readable or not, and closed drops what the kernel
	// knows of it.
	setReady(fd int, ready bool)
	closed(fd int)
	isReady(fd int) bool
	// take returns at most so many events, without waiting.
	take(n int) []uint64
	// promised reports whether an event with this token will come without anything
	// further that happens to fd.
	promised(fd int, token uint64) bool
	setOnArm(func())
}

// sockets are what a kernel knows of descriptors, whatever its calls are.
type sockets struct {
	ready map[int]bool
	onArm func() // between the word and the kernel
}

func (s *sockets) isReady(fd int) bool { return s.ready[fd] }

func (s *sockets) setOnArm(f func()) { s.onArm = f }

func (s *sockets) armed() {
	if s.onArm != nil {
		s.onArm()
	}
}

// fakeKqueue is a kernel with a kqueue: a filter that was added belongs to a descriptor and
// goes with it; whether it is active is looked at when events are taken, so that input which
// was read meanwhile gives none; with EV_ONESHOT it is gone after its event; EV_EOF counts
// as input, and lasts; to add it again changes nothing but that it is there.
type fakeKqueue struct {
	sockets
	knotes  []int  // descriptors with a filter, the longest-waiting first
	onTaken func() // between the kernel and whoever waits
	halt    bool
	freed   bool
	backend *kqueue
}

func newFakeKqueue() *fakeKqueue { return &fakeKqueue{sockets: sockets{ready: map[int]bool{}}} }

func (k *fakeKqueue) open() (backend, error) {
	k.halt, k.freed, k.knotes = false, false, nil
	k.backend = newKqueue(k)
	return hold(k.backend, k.armed)
}

func (k *fakeKqueue) add(fd int) error {
	if !slices.Contains(k.knotes, fd) {
		k.knotes = append(k.knotes, fd)
	}
	return nil
}

func (k *fakeKqueue) remove(fd int) {
	k.knotes = slices.DeleteFunc(k.knotes, func(other int) bool { return other == fd })
}

func (k *fakeKqueue) next(fds []int) (int, error) {
	if k.halt {
		fds[0] = stopped
		return 1, nil
	}
	n := 0
	for _, fd := range slices.Clone(k.knotes) {
		if n < len(fds) && k.ready[fd] {
			fds[n] = fd
			n++
			k.remove(fd)
		}
	}
	if n == 0 {
		return 0, errNothing
	}
	if k.onTaken != nil {
		k.onTaken()
	}
	return n, nil
}

func (k *fakeKqueue) stop() { k.halt = true }

func (k *fakeKqueue) free() { k.freed = true }

func (k *fakeKqueue) setReady(fd int, ready bool) { k.ready[fd] = ready }

func (k *fakeKqueue) closed(fd int) { k.remove(fd) }

func (k *fakeKqueue) take(n int) []uint64 { return taken(k.backend, n) }

func (k *fakeKqueue) promised(fd int, token uint64) bool {
	return slices.Contains(k.knotes, fd) && k.backend.tokens[fd] == token
}

// errNothing is what a fake's next returns where a kernel's would wait.
var errNothing = errors.New("fake: nothing has happened")

// taken is a wait that does not.
func taken(b backend, n int) []uint64 {
	tokens := make([]uint64, n)
	n, err := b.wait(tokens)
	if err != nil {
		return nil
	}
	return tokens[:n]
}

// fakeDriver is a kernel with Windows' polls: each is a request that ends once, when its
// socket is readable or closed, or after it was cancelled, and whose end is queued. What has
// ended stays so, whatever is read meanwhile.
type fakeDriver struct {
	sockets
	requests []*poll
	ends     []*poll
	halt     bool
	freed    bool
	backend  *afd
}

func newFakeDriver() *fakeDriver { return &fakeDriver{sockets: sockets{ready: map[int]bool{}}} }

func (k *fakeDriver) open() (backend, error) {
	k.halt, k.freed = false, false
	k.backend = newAFD(k)
	return hold(k.backend, k.armed)
}

func (k *fakeDriver) request(p *poll) error {
	if slices.Contains(k.requests, p) || slices.Contains(k.ends, p) {
		panic("a poll that is pending was used again")
	}
	k.requests = append(k.requests, p)
	k.fire(p.fd)
	return nil
}

func (k *fakeDriver) end(which func(*poll) bool) {
	k.requests = slices.DeleteFunc(k.requests, func(p *poll) bool {
		if !which(p) {
			return false
		}
		k.ends = append(k.ends, p)
		return true
	})
}

func (k *fakeDriver) fire(fd int) {
	if k.ready[fd] {
		k.end(func(p *poll) bool { return p.fd == fd })
	}
}

func (k *fakeDriver) cancel(p *poll) { k.end(func(other *poll) bool { return other == p }) }

func (k *fakeDriver) next(wait bool) (*poll, error) {
	if len(k.ends) > 0 {
		p := k.ends[0]
		k.ends = k.ends[1:]
		return p, nil
	}
	if k.halt {
		k.halt = false
		return nil, nil
	}
	if wait {
		return nil, errNothing
	}
	return nil, nil
}

func (k *fakeDriver) ended(*poll) {}

func (k *fakeDriver) stop() { k.halt = true }

func (k *fakeDriver) free() { k.freed = true }

func (k *fakeDriver) setReady(fd int, ready bool) {
	k.ready[fd] = ready
	k.fire(fd)
}

func (k *fakeDriver) closed(fd int) { k.end(func(p *poll) bool { return p.fd == fd }) }

func (k *fakeDriver) take(n int) []uint64 { return taken(k.backend, n) }

func (k *fakeDriver) promised(fd int, token uint64) bool {
	p := k.backend.polls[fd]
	return p != nil && p.token == token && slices.Contains(k.ends, p)
}

// held keeps the poller's own goroutine out of the wait: the model takes events itself.
type held struct {
	backend
	armed func()
	end   chan error
}

func hold(b backend, armed func()) (backend, error) {
	return held{b, armed, make(chan error, 1)}, nil
}

func (h held) arm(fd int, token uint64, first bool) error {
	h.armed()
	return h.backend.arm(fd, token, first)
}

func (h held) wait([]uint64) (int, error) { return 0, <-h.end }

func (h held) close() {
	h.backend.close()
	for tokens := make([]uint64, batch); ; {
		if _, err := h.backend.wait(tokens); err != nil {
			h.end <- err
			return
		}
	}
}

// armAll arms the descriptors below n.
func armAll(b backend, n int) {
	for fd := range n {
		b.arm(fd, tokenOf(uint32(fd+1), 1), true)
	}
}

// A backend that is closed gives back what it holds once, after all that is pending has
// ended, whoever ends last.
func TestBackendsClose(t *testing.T) {
	for _, pending := range []int{0, 1, 3} {
		t.Run(fmt.Sprint("kqueue, pending ", pending), func(t *testing.T) {
			k := newFakeKqueue()
			k.open()
			b := k.backend
			armAll(b, pending)
			b.close()
			if _, err := b.wait(make([]uint64, 2)); err != os.ErrClosed || !k.freed {
				t.Errorf("wait after close: %v, freed %v", err, k.freed)
			}
		})
		t.Run(fmt.Sprint("polls, pending ", pending), func(t *testing.T) {
			k := newFakeDriver()
			k.open()
			b := k.backend
			armAll(b, pending)
			for fd := range pending - 1 {
				b.disarm(fd)
			}
			b.close()
			for {
				if n, err := b.wait(make([]uint64, 2)); err == os.ErrClosed {
					break
				} else if err != nil {
					t.Fatal(n, err)
				}
			}
			if !k.freed || len(k.backend.pending) != 0 || len(k.requests)+len(k.ends) != 0 {
				t.Errorf("freed %v, pending %d, asked %d, ended %d", k.freed, len(k.backend.pending), len(k.requests), len(k.ends))
			}
		})
	}
}

// Where the wait has failed, close gives back what it may.
func TestBackendsCloseAfterFailure(t *testing.T) {
	kq := newFakeKqueue()
	kq.open()
	var b backend = kq.backend
	if _, err := b.wait(make([]uint64, 1)); err != errNothing {
		t.Fatal(err)
	}
	if b.close(); !kq.freed {
		t.Error("the queue is still held")
	}
	d := newFakeDriver()
	d.open()
	b = d.backend
	if _, err := b.wait(make([]uint64, 1)); err != errNothing {
		t.Fatal(err)
	}
	if b.close(); !d.freed {
		t.Error("the port is still held")
	}
	d.open()
	b = d.backend
	b.arm(1, 1, true)
	b.wait(make([]uint64, 1))
	if b.close(); d.freed {
		t.Error("the port was given back under a poll of which no end was told")
	}
	abandoned.Clear()
}

// The same where the wait fails only after close.
func TestBackendsFailAfterClose(t *testing.T) {
	kq := newFakeKqueue()
	kq.open()
	kq.backend.close()
	kq.halt = false // the kernel loses that of close
	if _, err := kq.backend.wait(make([]uint64, 1)); err != errNothing || !kq.freed {
		t.Errorf("%v, freed %v", err, kq.freed)
	}
	d := newFakeDriver()
	d.open()
	d.backend.arm(1, 1, true)
	d.backend.close()
	d.ends, d.halt = nil, false
	if _, err := d.backend.wait(make([]uint64, 1)); err != errNothing || d.freed {
		t.Errorf("%v, freed %v", err, d.freed)
	}
	if _, kept := abandoned.Load(d.backend); !kept {
		t.Error("the memory of a poll of which no end was told is not kept")
	}
	abandoned.Clear()
}

// An event comes once, until its filter is added again, though the end of the stream lasts.
func TestOneShot(t *testing.T) {
	k := newFakeKqueue()
	k.open()
	b := k.backend
	k.setReady(7, true)
	for range 3 {
		b.arm(7, 1, false)
		if got := k.take(4); !slices.Equal(got, []uint64{1}) {
			t.Errorf("armed: woken %v", got)
		}
		if got := k.take(4); len(got) != 0 {
			t.Errorf("not armed: woken %v", got)
		}
	}
}

// Events have no data of the user's, so that one taken from the kernel just before its
// descriptor is closed and another's wakes the other, once. That loses nothing: the other's
// own events come as before.
func TestEventOfReusedDescriptor(t *testing.T) {
	k := newFakeKqueue()
	k.open()
	b := k.backend
	b.arm(7, 1, true)
	k.setReady(7, true)
	k.onTaken = func() {
		k.closed(7)
		b.disarm(7)
		k.setReady(7, false)
		b.arm(7, 2, true)
	}
	if got := k.take(4); !slices.Equal(got, []uint64{2}) {
		t.Errorf("woken: %v", got)
	}
	k.onTaken = func() { b.disarm(7) } // closed, and not used again
	k.setReady(7, true)
	if got := k.take(4); len(got) != 0 {
		t.Errorf("woken for nobody: %v", got)
	}
	k.onTaken = nil
	b.arm(7, 3, true)
	if got := k.take(4); !slices.Equal(got, []uint64{3}) {
		t.Errorf("woken: %v", got)
	}
}

// A poll of a socket that was closed, whose number another has now, wakes nobody for the
// other, and its memory is not used before it has ended.
func TestPollOfReusedNumber(t *testing.T) {
	k := newFakeDriver()
	k.open()
	b := k.backend
	b.arm(7, 1, true)
	old := k.requests[0]
	b.arm(7, 2, true)
	if got := k.requests[0]; got == old {
		t.Fatal("the old poll was taken for the new")
	}
	if got := k.take(4); len(got) != 0 {
		t.Errorf("the end of the old poll woke %v", got)
	}
	k.setReady(7, true)
	if got := k.take(4); !slices.Equal(got, []uint64{2}) {
		t.Errorf("woken: %v", got)
	}
	b.arm(7, 3, false)
	if len(k.ends) != 1 || k.ends[0] == old {
		t.Error("the ends of polls are mixed up")
	}
}
