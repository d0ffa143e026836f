// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"
	"sync"

	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/channelz"
)

// stateWatch is the channel's connectivity state, and who waits for it to change.
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

// set changes the state, unless it is Shutdown: that is final. tell, which may be nil, is told if it
// does.
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

// wait waits until the state is another than s, and says whether it is before ctx
// ends.
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
