// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"
	"testing"

	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/internal/rpcconfig"
)

type passing struct {
	n  int
	md *ctxkey.Outgoing // the last RPC's
}

func (p *passing) Select(_ context.Context, _ string, md *ctxkey.Outgoing) (rpcconfig.Choice, error) {
	p.md = md
	return rpcconfig.Choice{}, nil
}

// TestChooseAllocs: an RPC pays nothing for a Selector but what that does itself.
func TestChooseAllocs(t *testing.T) {
	for _, turn := range []*selectorTurn{nil, newSelectorTurn(&passing{})} {
		ch := &Channel{}
		c := newConfig(NoServiceConfig)
		c.selector = turn
		ch.config.Store(c)
		if n := testing.AllocsPerRun(1000, func() {
			if _, err := ch.Choose(t.Context(), "/s/m", nil); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%v allocations", n)
		}
	}
}

// unlocked is a context that may be asked for a value only while turn has no lock.
type unlocked struct {
	context.Context
	t    *testing.T
	turn *selectorTurn
}

func (c unlocked) Value(key any) any {
	if !c.turn.mu.TryLock() {
		c.t.Error("a context is asked with the lock held")
		return nil
	}
	c.turn.mu.Unlock()
	return c.Context.Value(key)
}

func TestSelectorGetsMetadata(t *testing.T) {
	p := &passing{}
	turn := newSelectorTurn(p)
	ctx := ctxkey.WithOutgoing(t.Context(), map[string][]string{"k": {"v"}})
	_, _, err := turn.ask(unlocked{ctx, t, turn}, "/s/m")
	if err != nil || p.md != ctxkey.OutgoingFrom(ctx) {
		t.Errorf("%v, error %v", p.md, err)
	}
}

func TestSelectorTurn(t *testing.T) {
	one, two := &passing{n: 1}, &passing{n: 2}
	turn := newSelectorTurn(one)
	if !turn.isFor(one) || turn.isFor(two) || turn.isFor(nil) || !newSelectorTurn(nil).isFor(nil) {
		t.Error("whose turn it is")
	}
	if _, over, err := turn.ask(t.Context(), "/s/m"); over || err != nil {
		t.Error(over, err)
	}
	turn.end()
	if _, over, _ := turn.ask(t.Context(), "/s/m"); !over {
		t.Error("it was asked after its turn")
	}
}
