// SPDX-License-Identifier: Apache-2.0

package park

import (
	"os"
	"sync"
)

// kqueue is a backend over the kernel's queue of that name. Each filter that is added reports one event, and
// is then gone. The system calls are behind kernelQueue, so that the logic runs in tests on every system.
//
// A filter's user data is a pointer, so that it can't hold a token. Tokens are kept by descriptor
// instead. So an event that was taken from the kernel just before its descriptor was closed and reused
// may wake the new owner, which then looks for input once and finds none.
type kqueue struct {
	kernel kernelQueue
	fds    [batch]int // owned by the goroutine in wait

	mu     sync.Mutex
	tokens map[int]uint64
	gone   bool // no goroutine is in wait any more, or ever will be
	closed bool // close was called
}

// kernelQueue is the system's side. Only next blocks, and is called by one goroutine.
type kernelQueue interface {
	// add asks for one event when fd is readable, at its end, or in error; at once if
	// it is so now. It replaces an earlier one.
	add(fd int) error
	// remove forgets fd.
	remove(fd int)
	// next waits for events, and stores their descriptors in fds. After stop it stores stopped, in each
	// call.
	next(fds []int) (int, error)
	stop()
	// free gives back what the system holds, once nobody is in next.
	free()
}

// stopped takes the place of a descriptor once the queue was stopped.
const stopped = -1

func newKqueue(kernel kernelQueue) *kqueue {
	return &kqueue{kernel: kernel, tokens: map[int]uint64{}}
}

// arm stores the token first: the event may be there before add returns.
func (k *kqueue) arm(fd int, token uint64, _ bool) error {
	k.mu.Lock()
	k.tokens[fd] = token
	k.mu.Unlock()
	return k.kernel.add(fd)
}

func (k *kqueue) disarm(fd int) {
	k.mu.Lock()
	delete(k.tokens, fd)
	k.mu.Unlock()
	k.kernel.remove(fd)
}

func (k *kqueue) wait(tokens []uint64) (int, error) {
	for {
		n, err := k.kernel.next(k.fds[:min(len(tokens), batch)])
		if err != nil {
			k.mu.Lock()
			defer k.mu.Unlock()
			if k.gone = true; k.closed {
				k.kernel.free()
			}
			return 0, err
		}
		found, over := k.lookUp(k.fds[:n], tokens)
		if over {
			k.kernel.free()
			return 0, os.ErrClosed
		}
		if found > 0 {
			return found, nil
		}
	}
}

func (k *kqueue) lookUp(fds []int, tokens []uint64) (found int, over bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, fd := range fds {
		if fd == stopped {
			return 0, true
		}
		if token, ok := k.tokens[fd]; ok {
			tokens[found] = token
			found++
		}
	}
	return found, false
}

// close makes wait return. The goroutine in wait is then the only one left that uses the kernel's queue,
// and frees it.
func (k *kqueue) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	k.kernel.stop()
	if k.gone {
		k.kernel.free()
	}
}
