// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"
	"sync"

	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/channelz"
)

// stateWatch holds the channel's connectivity state, and wakes goroutines that wait for it to
// change.
type stateWatch struct {
	node *channelz.Node // immutable

	mu      sync.Mutex
	state   connectivity.State
	changed chan struct{} // closed at the next change; nil while nobody waits
}

func (w *stateWatch) get() connectivity.State {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}

// set changes the state to s, unless the state is Shutdown, which is final. If the state changes,
// set calls tell with s, mu held. tell may be nil.
func (w *stateWatch) set(s connectivity.State, tell func(connectivity.State)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state == s || w.state == connectivity.Shutdown {
		return
	}
	w.state = s
	w.node.SetState(s)
	if tell != nil {
		tell(s)
	}
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

// wait waits until the state differs from s and returns true. It returns false if ctx ends first.
func (w *stateWatch) wait(ctx context.Context, s connectivity.State) bool {
	w.mu.Lock()
	if w.state != s {
		w.mu.Unlock()
		return true
	}
	if w.changed == nil {
		w.changed = make(chan struct{})
	}
	changed := w.changed
	w.mu.Unlock()
	select {
	case <-changed:
		return true
	case <-ctx.Done():
		return false
	}
}
