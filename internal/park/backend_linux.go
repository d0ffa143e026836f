// SPDX-License-Identifier: Apache-2.0

package park

import (
	"os"
	"syscall"
)

const supported = true

// epollOneshot is EPOLLONESHOT: an event disarms, so that a busy connection,
// which never parks, costs nothing.
const epollOneshot = 1 << 30

// epoll is a set of the kernel's. It is itself a file that the Go runtime's
// poller waits on, which makes the wait a parked goroutine, not a thread.
type epoll struct {
	fd   int
	file *os.File
	rc   syscall.RawConn

	// for wait's callback, owned by the goroutine in wait
	take   func(fd uintptr) bool
	events [batch]syscall.EpollEvent
	n      int
	err    error
}

func newBackend() (backend, error) {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	// os.NewFile hands only non-blocking descriptors to the runtime's poller.
	if err := syscall.SetNonblock(fd, true); err != nil {
		syscall.Close(fd)
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
	ev := syscall.EpollEvent{
		Events: syscall.EPOLLIN | syscall.EPOLLRDHUP | epollOneshot,
		Fd:     int32(slot), Pad: int32(gen), // together the 64 bits of user data
	}
	// The other operation is for a registration that went, or stayed, together
	// with a duplicate of the descriptor.
	op, other, wrong := syscall.EPOLL_CTL_MOD, syscall.EPOLL_CTL_ADD, syscall.ENOENT
	if first {
		op, other, wrong = other, op, syscall.EEXIST
	}
	err := syscall.EpollCtl(e.fd, op, fd, &ev)
	if err == wrong {
		err = syscall.EpollCtl(e.fd, other, fd, &ev)
	}
	return os.NewSyscallError("epoll_ctl", err)
}

func (e *epoll) disarm(fd int) {
	_ = syscall.EpollCtl(e.fd, syscall.EPOLL_CTL_DEL, fd, &syscall.EpollEvent{})
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
		n, err := syscall.EpollWait(int(fd), e.events[:], 0)
		if err == syscall.EINTR {
			continue
		}
		e.n, e.err = max(n, 0), os.NewSyscallError("epoll_wait", err)
		return e.n > 0 || e.err != nil
	}
}

func (e *epoll) close() { e.file.Close() }
