// SPDX-License-Identifier: Apache-2.0

package rpcconfig_test

import (
	"context"
	"errors"
	"testing"

	"google.golang.org/grpc/internal/rpcconfig"
)

type noteKey struct{}

func TestFilters(t *testing.T) {
	add := func(s string) rpcconfig.Filter {
		return func(ctx context.Context, method string) (context.Context, error) {
			before, _ := ctx.Value(noteKey{}).(string)
			return context.WithValue(ctx, noteKey{}, before+s+method), nil
		}
	}
	no := errors.New("no")
	refuse := func(context.Context, string) (context.Context, error) { return nil, no }
	ctx, err := rpcconfig.Filters{add("a"), add("b")}.Route(t.Context(), "/m ")
	if got := ctx.Value(noteKey{}); err != nil || got != "a/m b/m " {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := (rpcconfig.Filters{add("a"), refuse, add("b")}).Route(t.Context(), "/m"); err != no {
		t.Errorf("%v, want %v", err, no)
	}
	if ctx, err := rpcconfig.Filters(nil).Route(t.Context(), "/m"); err != nil || ctx != t.Context() {
		t.Errorf("no filters: %v, %v", ctx, err)
	}
}

func TestRouterOfContext(t *testing.T) {
	if r := rpcconfig.RouterOf(t.Context()); r != nil {
		t.Errorf("a context of no connection has %v", r)
	}
	ctx := rpcconfig.NewConnContext(t.Context(), rpcconfig.Filters{})
	if _, ok := rpcconfig.RouterOf(ctx).(rpcconfig.Filters); !ok {
		t.Error("the Router is not found")
	}
}
