// SPDX-License-Identifier: Apache-2.0

//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package park

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	supported = true
	takes     = false
)

// keventQueue waits in the kernel on a thread of its own, and is stopped through a pipe. A kqueue can't be
// made non-blocking everywhere, so the runtime's poller does not take it.
type keventQueue struct {
	fd           int
	stopR, stopW int
	events       [batch]unix.Kevent_t // owned by the goroutine in next
}

func newBackend() (backend, error) {
	q := new(keventQueue)
	var pipe [2]int
	var err error
	syscall.ForkLock.RLock()
	if q.fd, err = unix.Kqueue(); err == nil {
		unix.CloseOnExec(q.fd)
		if err = unix.Pipe(pipe[:]); err != nil {
			unix.Close(q.fd)
		} else {
			unix.CloseOnExec(pipe[0])
			unix.CloseOnExec(pipe[1])
		}
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, os.NewSyscallError("kqueue", err)
	}
	q.stopR, q.stopW = pipe[0], pipe[1]
	if err := q.change(q.stopR, unix.EV_ADD); err != nil {
		q.stop()
		q.free()
		return nil, err
	}
	return newKqueue(q), nil
}

func (q *keventQueue) add(fd int) error { return q.change(fd, unix.EV_ADD|unix.EV_ONESHOT) }

func (q *keventQueue) remove(fd int) { _ = q.change(fd, unix.EV_DELETE) }

func (q *keventQueue) change(fd, flags int) error {
	var ev [1]unix.Kevent_t
	unix.SetKevent(&ev[0], fd, unix.EVFILT_READ, flags)
	for {
		_, err := unix.Kevent(q.fd, ev[:], nil, nil)
		if err != unix.EINTR {
			return os.NewSyscallError("kevent", err)
		}
	}
}

func (q *keventQueue) next(fds []int) (int, error) {
	for {
		n, err := unix.Kevent(q.fd, nil, q.events[:len(fds)], nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0, os.NewSyscallError("kevent", err)
		}
		for i, ev := range q.events[:n] {
			if fds[i] = int(ev.Ident); fds[i] == q.stopR {
				fds[i] = stopped
			}
		}
		return n, nil
	}
}

// stop closes the pipe, which next notices.
func (q *keventQueue) stop() { unix.Close(q.stopW) }

func (q *keventQueue) free() {
	unix.Close(q.stopR)
	unix.Close(q.fd)
}
