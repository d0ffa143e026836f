// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/same"
	"google.golang.org/grpc/status"
)

// selectorTurn is a resolver's Selector for as long as the channel uses it.
type selectorTurn struct {
	selector rpcconfig.Selector // immutable

	mu   sync.RWMutex // held for reading while Select runs
	over bool
}

// newSelectorTurn returns a selectorTurn for s, or nil if s is nil.
func newSelectorTurn(s rpcconfig.Selector) *selectorTurn {
	if s == nil {
		return nil
	}
	return &selectorTurn{selector: s}
}

// isFor reports whether t is for s. A nil turn is for a nil Selector.
func (t *selectorTurn) isFor(s rpcconfig.Selector) bool {
	if t == nil || s == nil {
		return t == nil && s == nil
	}
	return same.Value(t.selector, s)
}

// ask calls Select, unless the turn is over. An error is a status.
func (t *selectorTurn) ask(ctx context.Context, method string) (c rpcconfig.Choice, over bool, err error) {
	md := ctxkey.OutgoingFrom(ctx) // without the lock: a context is the program's
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.over {
		return c, true, nil
	}
	if c, err = t.selector.Select(ctx, method, md); err != nil {
		return rpcconfig.Choice{}, false, selectorError(err)
	}
	return c, false, nil
}

// end ends the turn, and returns when no call of Select is running any more. t may be nil.
func (t *selectorTurn) end() {
	if t != nil {
		t.mu.Lock()
		t.over = true
		t.mu.Unlock()
	}
}

func selectorError(err error) error {
	if _, ok := status.FromError(err); ok {
		return controlPlaneError("config selector returned", err)
	}
	if err = AsStatus(err); status.Code(err) == codes.OK {
		return status.Error(codes.Internal, "config selector returned an error without a code")
	}
	return err
}
