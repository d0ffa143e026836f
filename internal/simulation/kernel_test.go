// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"errors"
	"slices"

	"google.golang.org/grpc/internal/warm"
)

// kernel is the world's park.Kernel: what it was asked for, and what it has told.
type kernel struct {
	w      *world
	armed  map[int]uint64
	known  map[int]bool
	events chan uint64
	stale  []uint64 // some of the tokens that were told

	relents bool // it refuses nothing any more
}

func newKernel(w *world) *kernel {
	return &kernel{w: w, armed: map[int]uint64{}, known: map[int]bool{}, events: make(chan uint64, 64)}
}

// Arm implements park.Kernel.
func (k *kernel) Arm(fd int, token uint64, first bool) error {
	k.w.mu.Lock()
	defer k.w.mu.Unlock()
	if k.w.swarm.has(fewWatches) && !k.relents && first && k.w.c.rarely(3) {
		k.w.reach(armRefused)
		return errors.New("simulation: no more watches")
	}
	if first == k.known[fd] {
		k.w.fail("first arming of descriptor %d and later ones are mixed up", fd)
	}
	k.known[fd], k.armed[fd] = true, token
	k.w.reach(armed)
	return nil
}

// Calm implements park.Kernel.
func (k *kernel) Calm(fd int) {
	k.w.mu.Lock()
	defer k.w.mu.Unlock()
	if _, ok := k.armed[fd]; ok {
		k.w.reach(calmed)
	}
	delete(k.armed, fd)
}

// Disarm implements park.Kernel.
func (k *kernel) Disarm(fd int) {
	k.w.mu.Lock()
	defer k.w.mu.Unlock()
	k.forget(fd)
}

func (k *kernel) forget(fd int) {
	delete(k.armed, fd)
	delete(k.known, fd)
}

// Wait implements park.Kernel.
func (k *kernel) Wait(closed <-chan struct{}, tokens []uint64) (int, error) {
	select {
	case tokens[0] = <-k.events:
		return 1, nil
	case <-closed:
		return 0, errors.New("simulation: the poller is closed")
	}
}

// Go implements park.Kernel.
func (k *kernel) Go(t warm.Task) { k.w.start(t) }

// fdUse is what the number of a descriptor stands for.
type fdUse uint8

const (
	fdNever fdUse = iota // nothing yet
	fdTaken
	fdFree // nothing any more
)

// descriptor is the lowest number that stands for nothing, as on Unix: sockets that come after a close get
// the numbers of those before.
func (w *world) descriptor() int {
	fd := slices.IndexFunc(w.fds, func(u fdUse) bool { return u != fdTaken })
	if fd < 0 {
		fd = len(w.fds)
		w.fds = append(w.fds, fdNever)
	}
	if w.fds[fd] == fdFree {
		w.reach(fdAgain)
	}
	w.fds[fd] = fdTaken
	return fd
}

// tell has the poller hear of a descriptor.
func (k *kernel) tell(fd int) {
	token := k.armed[fd]
	delete(k.armed, fd)
	if len(k.stale) < 8 {
		k.stale = append(k.stale, token)
	}
	k.events <- token
}
