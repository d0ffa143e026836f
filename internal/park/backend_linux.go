// SPDX-License-Identifier: Apache-2.0

package park

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const supported = true

// epoll is a set of the kernel's. It is itself a file that the Go runtime's
// poller waits on, which makes the wait a parked goroutine, not a thread.
type epoll struct {
	fd   int
	file *os.File
	rc   syscall.RawConn

	// for wait's callback, owned by the goroutine in wait
	take   func(fd uintptr) bool
	events [batch]unix.EpollEvent
	n      int
	err    error
}

func newBackend() (backend, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	// os.NewFile hands only non-blocking descriptors to the runtime's poller.
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("fcntl", err)
	}
	e := &epoll{fd: fd, file: os.NewFile(uintptr(fd), "epoll")}
	if e.rc, err = e.file.SyscallConn(); err != nil {
		e.file.Close()
		return nil, err
	}
	e.take = e.takeEvents
	return e, nil
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

func (e *epoll) wait(tokens []uint64) (int, error) {
	if err := e.rc.Read(e.take); err != nil {
		return 0, err
	}
	if e.err != nil {
		return 0, e.err
	}
	for i, ev := range e.events[:e.n] {
		tokens[i] = tokenOf(uint32(ev.Fd), uint32(ev.Pad))
	}
	return e.n, nil
}

// takeEvents never blocks; with none, rc.Read waits and calls it again.
func (e *epoll) takeEvents(fd uintptr) bool {
	for {
		n, err := unix.EpollWait(int(fd), e.events[:], 0)
		if err == unix.EINTR {
			continue
		}
		e.n, e.err = max(n, 0), os.NewSyscallError("epoll_wait", err)
		return e.n > 0 || e.err != nil
	}
}

func (e *epoll) close() { e.file.Close() }
