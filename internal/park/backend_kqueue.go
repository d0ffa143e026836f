// SPDX-License-Identifier: Apache-2.0

//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package park

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

const supported = true

// kqueue waits in the kernel with a thread of its own, and is stopped through a
// pipe: a kqueue can't be made non-blocking everywhere, so that the runtime's
// poller doesn't take it.
//
// User data is a pointer here, and a number is none; tokens are kept by
// descriptor instead. An event taken from the kernel just before its descriptor
// is closed and reused may thus wake the new owner, which costs that one look.
type kqueue struct {
	fd           int
	stopR, stopW int
	events       [batch]unix.Kevent_t // owned by the goroutine in wait

	mu     sync.Mutex
	tokens map[int]uint64
	gone   bool // nobody is in wait any more, or ever will be
}

func newBackend() (backend, error) {
	k := &kqueue{tokens: map[int]uint64{}}
	var pipe [2]int
	var err error
	syscall.ForkLock.RLock()
	if k.fd, err = unix.Kqueue(); err == nil {
		unix.CloseOnExec(k.fd)
		if err = unix.Pipe(pipe[:]); err != nil {
			unix.Close(k.fd)
		} else {
			unix.CloseOnExec(pipe[0])
			unix.CloseOnExec(pipe[1])
		}
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, os.NewSyscallError("kqueue", err)
	}
	k.stopR, k.stopW = pipe[0], pipe[1]
	if err := k.change(k.stopR, unix.EV_ADD); err != nil {
		k.gone = true
		k.close()
		return nil, err
	}
	return k, nil
}

func (k *kqueue) arm(fd int, token uint64, _ bool) error {
	k.mu.Lock()
	k.tokens[fd] = token
	k.mu.Unlock()
	return k.change(fd, unix.EV_ADD|unix.EV_ONESHOT)
}

func (k *kqueue) disarm(fd int) {
	k.mu.Lock()
	delete(k.tokens, fd)
	k.mu.Unlock()
	_ = k.change(fd, unix.EV_DELETE)
}

func (k *kqueue) change(fd, flags int) error {
	var ev [1]unix.Kevent_t
	unix.SetKevent(&ev[0], fd, unix.EVFILT_READ, flags)
	for {
		_, err := unix.Kevent(k.fd, ev[:], nil, nil)
		if err != unix.EINTR {
			return os.NewSyscallError("kevent", err)
		}
	}
}

func (k *kqueue) wait(tokens []uint64) (int, error) {
	for {
		n, err := unix.Kevent(k.fd, nil, k.events[:], nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			k.mu.Lock()
			k.gone = true
			k.mu.Unlock()
			return 0, os.NewSyscallError("kevent", err)
		}
		found, stopped := k.lookUp(k.events[:n], tokens)
		if stopped {
			k.free()
			return 0, os.ErrClosed
		}
		if found > 0 {
			return found, nil
		}
	}
}

func (k *kqueue) lookUp(events []unix.Kevent_t, tokens []uint64) (found int, stopped bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range events {
		fd := int(events[i].Ident)
		if fd == k.stopR {
			return 0, true
		}
		if token, ok := k.tokens[fd]; ok {
			tokens[found] = token
			found++
		}
	}
	return found, false
}

// close is heard by wait as the end of the pipe; the goroutine there is then
// the only one left to use the other descriptors.
func (k *kqueue) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	unix.Close(k.stopW)
	if k.gone {
		k.free()
	}
}

func (k *kqueue) free() {
	unix.Close(k.stopR)
	unix.Close(k.fd)
}
