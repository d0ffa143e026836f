// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/balancer"
)

// pickerGate holds the channel's picker. RPCs pick with it, and wait for the next one.
type pickerGate struct {
	current atomic.Pointer[pickerTurn]

	mu     sync.Mutex // held while the current turn is replaced, and while changed runs
	closed bool
}

// pickerTurn is one picker for as long as it is the channel's.
type pickerTurn struct {
	picker balancer.Picker // nil: there is none, and RPCs wait
	closed bool            // the channel is closed
	// next is closed when another turn replaces this one; nil while nobody waits for that. The
	// gate's lock guards it.
	next chan struct{}
}

// turn returns the current turn. It is never nil.
func (g *pickerGate) turn() *pickerTurn {
	if t := g.current.Load(); t != nil {
		return t
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.current.CompareAndSwap(nil, &pickerTurn{})
	return g.current.Load()
}

// set makes p the picker; nil makes RPCs wait.
func (g *pickerGate) set(p balancer.Picker) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.replace(&pickerTurn{picker: p})
	}
}

// close fails RPCs that wait, and all later ones.
func (g *pickerGate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.replace(&pickerTurn{closed: true})
}

func (g *pickerGate) replace(t *pickerTurn) {
	if old := g.current.Swap(t); old != nil && old.next != nil {
		close(old.next)
	}
}

// changed returns a channel that is closed once t is not the current turn.
func (g *pickerGate) changed(t *pickerTurn) <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.next == nil {
		t.next = make(chan struct{})
		if g.current.Load() != t {
			close(t.next)
		}
	}
	return t.next
}
