// SPDX-License-Identifier: Apache-2.0

package park

import (
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"google.golang.org/grpc/internal/pulse"
)

const (
	supported = true
	takes     = true
)

// epoll is an epoll set with the sockets in it, and a few waiters.
type epoll struct {
	fd    int
	waits [3]epollWaiter
	users atomic.Int32 // users of fd: the goroutines that wait, and the poller until close

	events [batch]unix.EpollEvent // owned by the leader
}

// epollWaiter is an epoll set, too. Its one member is the set of the sockets. It asks that for one event,
// or for none. Go's runtime waits for the epollWaiter's descriptor, so that a goroutine that waits here is
// parked and takes no thread. Making another waiter the leader's takes one system call, and wakes nobody.
//
// The event of the inner set is taken before the sockets' events are, and asked for again afterwards: the
// kernel does not report an event again until the last one has been taken.
type epollWaiter struct {
	of    *epoll
	file  *os.File
	rc    syscall.RawConn
	armed atomic.Bool

	// callbacks, bound once: a closure for each event would allocate
	take func(fd uintptr) bool
	ask  func(fd uintptr)

	refused refusal // the error of ask: as soon as ask has asked, another goroutine may be the leader

	// arguments and results of take; owned by the goroutine that waits
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
	for i := range e.waits {
		if err := e.waits[i].open(e); err != nil {
			e.close()
			return nil, err
		}
	}
	if err := e.waits[0].promote(); err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

func (s *epollWaiter) open(of *epoll) error {
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
	if err = s.file.SetReadDeadline(time.Time{}); err != nil { // the runtime could not watch it
		s.file.Close()
		return err
	}
	s.rc, err = s.file.SyscallConn()
	return err
}

func (e *epoll) waiters() []waiter {
	all := make([]waiter, len(e.waits))
	for i := range all {
		all[i] = &e.waits[i]
	}
	return all
}

func (e *epoll) hold() { e.users.Add(1) }

func (e *epoll) release() {
	if e.users.Add(-1) == 0 {
		unix.Close(e.fd)
	}
}

func (e *epoll) close() {
	for i := range e.waits {
		if f := e.waits[i].file; f != nil {
			f.Close()
		}
	}
	e.release()
}

func (e *epoll) arm(fd int, token uint64, first bool) error {
	slot, gen := splitToken(token)
	ev := unix.EpollEvent{
		// An event disarms the socket, so a busy connection, which never parks, costs nothing.
		Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLONESHOT,
		Fd:     int32(slot), Pad: int32(gen), // together the 64 bits of user data
	}
	// The other operation is for a registration that went away, or stayed, because of a duplicate of the
	// descriptor.
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

func (e *epoll) wait(tokens []uint64) (int, error) { return e.waits[0].wait(tokens) }

func (e *epoll) now(tokens []uint64) int {
	var events [batch]unix.EpollEvent
	n, _ := epollNow(e.fd, events[:len(tokens)])
	for i, ev := range events[:n] {
		tokens[i] = tokenOf(uint32(ev.Fd), uint32(ev.Pad))
	}
	return n
}

func (s *epollWaiter) wait(tokens []uint64) (int, error) {
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

// takeEvents never blocks. If it finds no event, rc.Read waits and calls it again. The runtime begins to
// note readiness before the first call, so it will report what that call does not see.
func (s *epollWaiter) takeEvents(fd uintptr) bool {
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

// epollRaw makes the system call without telling the scheduler.
func epollRaw(fd int, events []unix.EpollEvent) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(fd), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

func (s *epollWaiter) promote() error {
	if err := s.rc.Control(s.ask); err != nil {
		return err
	}
	return s.refused.err()
}

func (s *epollWaiter) askFor(fd uintptr) error {
	s.armed.Store(true) // before an event can come
	ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(int(fd), unix.EPOLL_CTL_MOD, s.of.fd, &ev))
}

// refusal is an error of a callback. The goroutine that called it may own nothing any more by then.
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
