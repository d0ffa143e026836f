// SPDX-License-Identifier: Apache-2.0

package park

import "google.golang.org/grpc/internal/warm"

// Ground is what connections stand on: a poller with its kernel, a sweeper, and the goroutines that run
// tasks. The connections of a process share one, for which a nil *Ground stands. Another Ground is for a
// program that decides what happens next, such as a simulation (package simulation).
type Ground struct {
	set     set
	sweeper *Sweeper
	retries *Sweeper
	kernel  Kernel
}

// Kernel is what another Ground needs from a system. Any goroutine may call Arm, Disarm and Calm, with
// locks held: they must not wait.
type Kernel interface {
	// Arm asks for one event with this token when fd is readable, at its end, or in error; at
	// once if it is so now. It replaces an earlier arming. first says that fd is new.
	Arm(fd int, token uint64, first bool) error
	// Calm takes back what Arm has asked for. Disarm does so and forgets fd.
	Calm(fd int)
	Disarm(fd int)
	// Wait blocks until there are events, stores their tokens in tokens, and returns how many they are. It
	// fails once closed is closed. One goroutine calls it, from when the first handle parks until the last
	// one has closed.
	Wait(closed <-chan struct{}, tokens []uint64) (int, error)
	// Go runs a task on another goroutine.
	Go(warm.Task)
}

// NewGround returns a ground over k.
func NewGround(k Kernel) *Ground {
	return &Ground{
		set:     set{open: func() (backend, error) { return foreign{k, make(chan struct{})}, nil }},
		sweeper: newSweeper(Linger),
		retries: NewSteadySweeper(RetryPeriod),
		kernel:  k,
	}
}

// Sweeper returns the sweeper of the connections that stand on g. A nil g stands for the process's ground,
// also in the methods below.
func (g *Ground) Sweeper() *Sweeper {
	if g == nil {
		return processSweeper
	}
	return g.sweeper
}

// RetrySweeper returns the sweeper of those connections on g that the system has refused to watch.
func (g *Ground) RetrySweeper() *Sweeper {
	if g == nil {
		return processRetries
	}
	return g.retries
}

// Takes reports whether Take is cheap on g: the system can be told not to report an event.
func (g *Ground) Takes() bool { return g != nil || takes }

// Go runs t on another goroutine. It never blocks.
func (g *Ground) Go(t warm.Task) {
	if g == nil {
		warm.Go(t)
		return
	}
	g.kernel.Go(t)
}

// InitOn does what Init does, on ground g.
func (h *Handle) InitOn(g *Ground, o Owner) {
	if g == nil {
		h.Init(o)
		return
	}
	h.init(&g.set, o)
}

// foreign turns a Kernel, which comes from outside this package, into a backend.
type foreign struct {
	Kernel
	closed chan struct{}
}

func (f foreign) arm(fd int, token uint64, first bool) error { return f.Arm(fd, token, first) }
func (f foreign) disarm(fd int)                              { f.Disarm(fd) }
func (f foreign) calm(fd int)                                { f.Calm(fd) }
func (f foreign) wait(tokens []uint64) (int, error)          { return f.Wait(f.closed, tokens) }
func (f foreign) close()                                     { close(f.closed) }
