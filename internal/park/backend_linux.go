// SPDX-License-Identifier: Apache-2.0

package park

import (
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"google.golang.org/grpc/internal/pulse"
)

const (
	supported = true
	takes     = true
)

// epoll is a set of the kernel's, in which the sockets are, with a few posts to wait at.
type epoll struct {
	fd    int
	seats [3]epollPost
	users atomic.Int32 // who has use for fd: those that wait, and the poller until close

	events [batch]unix.EpollEvent // owned by who has the watch
}

// epollPost is a set of the kernel's, too, with nothing in it but the other one, of which it
// asks for one event or for none. It is itself a file that the Go runtime's poller waits on,
// which makes the wait a parked goroutine, not a thread; and to have another goroutine wait
// for the sockets takes one word to the kernel, and wakes nobody.
//
// The event is taken before the sockets' are, and asked for again when they have been: where
// the kernel has one in hand that nobody has taken, asking again does not tell of it again.
type epollPost struct {
	of    *epoll
	file  *os.File
	rc    syscall.RawConn
	armed atomic.Bool

	// for callbacks, bound once: to allocate is not for each event
	take func(fd uintptr) bool
	ask  func(fd uintptr)

	refused refusal // of ask: once it has asked, another may have the watch already

	// of take; owned by who waits
	most int
	n    int
	err  error
}

func newBackend() (backend, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	e := &epoll{fd: fd}
	e.users.Store(1)
	for i := range e.seats {
		if err := e.seats[i].open(e); err != nil {
			e.close()
			return nil, err
		}
	}
	if err := e.seats[0].arm(); err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

func (s *epollPost) open(of *epoll) error {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	// os.NewFile hands only non-blocking descriptors to the runtime's poller.
	if err = unix.SetNonblock(fd, true); err == nil {
		err = unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, of.fd, &unix.EpollEvent{})
	}
	if err != nil {
		unix.Close(fd)
		return os.NewSyscallError("epoll_ctl", err)
	}
	s.of, s.file = of, os.NewFile(uintptr(fd), "epoll")
	s.take = s.takeEvents
	s.ask = func(fd uintptr) { s.refused.note(s.askFor(fd)) }
	s.rc, err = s.file.SyscallConn()
	return err
}

func (e *epoll) posts() []post {
	posts := make([]post, len(e.seats))
	for i := range posts {
		posts[i] = &e.seats[i]
	}
	return posts
}

func (e *epoll) hold() { e.users.Add(1) }

func (e *epoll) release() {
	if e.users.Add(-1) == 0 {
		unix.Close(e.fd)
	}
}

func (e *epoll) close() {
	for i := range e.seats {
		if f := e.seats[i].file; f != nil {
			f.Close()
		}
	}
	e.release()
}

func (e *epoll) arm(fd int, token uint64, first bool) error {
	slot, gen := splitToken(token)
	ev := unix.EpollEvent{
		// An event disarms: a busy connection, which never parks, costs nothing.
		Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLONESHOT,
		Fd:     int32(slot), Pad: int32(gen), // together the 64 bits of user data
	}
	// The other operation is for a registration that went, or stayed, together
	// with a duplicate of the descriptor.
	op, other, wrong := unix.EPOLL_CTL_MOD, unix.EPOLL_CTL_ADD, unix.ENOENT
	if first {
		op, other, wrong = other, op, unix.EEXIST
	}
	err := unix.EpollCtl(e.fd, op, fd, &ev)
	if err == wrong {
		err = unix.EpollCtl(e.fd, other, fd, &ev)
	}
	return os.NewSyscallError("epoll_ctl", err)
}

func (e *epoll) disarm(fd int) {
	_ = unix.EpollCtl(e.fd, unix.EPOLL_CTL_DEL, fd, &unix.EpollEvent{})
}

func (e *epoll) calm(fd int) {
	_ = unix.EpollCtl(e.fd, unix.EPOLL_CTL_MOD, fd, &unix.EpollEvent{Events: unix.EPOLLONESHOT})
}

func (e *epoll) wait(tokens []uint64) (int, error) { return e.seats[0].wait(tokens) }

func (e *epoll) now(tokens []uint64) int {
	var events [batch]unix.EpollEvent
	n, _ := epollNow(e.fd, events[:len(tokens)])
	for i, ev := range events[:n] {
		tokens[i] = tokenOf(uint32(ev.Fd), uint32(ev.Pad))
	}
	return n
}

func (s *epollPost) wait(tokens []uint64) (int, error) {
	s.most = len(tokens)
	if err := s.rc.Read(s.take); err != nil {
		return 0, err
	}
	if s.err != nil {
		return 0, s.err
	}
	for i, ev := range s.of.events[:s.n] {
		tokens[i] = tokenOf(uint32(ev.Fd), uint32(ev.Pad))
	}
	return s.n, nil
}

// takeEvents never blocks; with none, rc.Read waits and calls it again. The runtime has begun
// to note what becomes ready before it is called first: what it does not see will be told.
func (s *epollPost) takeEvents(fd uintptr) bool {
	if !s.armed.Load() {
		return false
	}
	var own [1]unix.EpollEvent
	if s.n, s.err = epollNow(int(fd), own[:]); s.n == 0 {
		return s.err != nil
	}
	s.armed.Store(false)
	if s.n, s.err = epollNow(s.of.fd, s.of.events[:s.most]); s.n > 0 || s.err != nil {
		return true
	}
	s.err = s.askFor(fd)
	return s.err != nil
}

// epollNow takes events without waiting.
func epollNow(fd int, events []unix.EpollEvent) (n int, err error) {
	for {
		if pulse.On() {
			n, err = epollRaw(fd, events)
		} else {
			n, err = unix.EpollWait(fd, events, 0)
		}
		if err != unix.EINTR {
			return max(n, 0), os.NewSyscallError("epoll_wait", err)
		}
	}
}

// epollRaw is a call of which the scheduler is not told.
func epollRaw(fd int, events []unix.EpollEvent) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(fd), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

func (s *epollPost) arm() error {
	if err := s.rc.Control(s.ask); err != nil {
		return err
	}
	return s.refused.err()
}

func (s *epollPost) askFor(fd uintptr) error {
	s.armed.Store(true) // before an event can come
	ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(int(fd), unix.EPOLL_CTL_MOD, s.of.fd, &ev))
}

// refusal is an error that a callback met whose caller may be no more the owner of anything.
type refusal struct{ atomic.Pointer[error] }

func (r *refusal) note(err error) {
	if err != nil {
		r.Store(&err)
	}
}

func (r *refusal) err() error {
	if p := r.Load(); p != nil {
		return *p
	}
	return nil
}
