// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"
	"testing"

	"google.golang.org/grpc/internal/rpcconfig"
)

type passing struct{ n int }

func (*passing) Select(context.Context, string) (rpcconfig.Choice, error) {
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

func TestSelectorTurn(t *testing.T) {
	one, two := &passing{1}, &passing{2}
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
