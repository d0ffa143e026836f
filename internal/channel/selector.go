// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/same"
	"google.golang.org/grpc/status"
)

// selectorTurn is a resolver's Selector for as long as the channel uses it.
type selectorTurn struct {
	selector rpcconfig.Selector // immutable

	mu   sync.RWMutex // held, shared, while the Selector is asked
	over bool
}

// newSelectorTurn returns nil for nil.
func newSelectorTurn(s rpcconfig.Selector) *selectorTurn {
	if s == nil {
		return nil
	}
	return &selectorTurn{selector: s}
}

// isFor says that t is s's turn.
func (t *selectorTurn) isFor(s rpcconfig.Selector) bool {
	if t == nil || s == nil {
		return t == nil && s == nil
	}
	return same.Value(t.selector, s)
}

// ask asks the Selector, unless its turn is over. An error is a status.
func (t *selectorTurn) ask(ctx context.Context, method string) (c rpcconfig.Choice, over bool, err error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.over {
		return c, true, nil
	}
	if c, err = t.selector.Select(ctx, method); err != nil {
		return rpcconfig.Choice{}, false, selectorError(err)
	}
	return c, false, nil
}

// end waits until nobody asks the Selector any more. A nil turn has ended.
func (t *selectorTurn) end() {
	if t != nil {
		t.mu.Lock()
		t.over = true
		t.mu.Unlock()
	}
}

func selectorError(err error) error {
	if _, ok := status.FromError(err); ok {
		return ControlPlaneError("config selector returned", err)
	}
	if err = AsStatus(err); status.Code(err) == codes.OK {
		return status.Error(codes.Internal, "config selector returned an error without a code")
	}
	return err
}
