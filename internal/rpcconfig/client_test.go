// SPDX-License-Identifier: Apache-2.0

package rpcconfig_test

import (
	"context"
	"slices"
	"testing"

	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/resolver"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

type selector struct{ name string }

func (selector) Select(context.Context, string, *ctxkey.Outgoing) (rpcconfig.Choice, error) {
	return rpcconfig.Choice{}, nil
}

func TestSelectorOfState(t *testing.T) {
	plain := resolver.State{Addresses: []resolver.Address{{Addr: "a"}}}
	if got := rpcconfig.SelectorOf(plain); got != nil {
		t.Errorf("a state without a Selector has %v", got)
	}
	one := rpcconfig.WithSelector(plain, selector{"one"})
	two := rpcconfig.WithSelector(one, selector{"two"})
	if got := rpcconfig.SelectorOf(one); got != (selector{"one"}) {
		t.Errorf("one has %v", got)
	}
	if got := rpcconfig.SelectorOf(two); got != (selector{"two"}) {
		t.Errorf("two has %v", got)
	}
	if rpcconfig.SelectorOf(plain) != nil || two.Addresses[0].Addr != "a" {
		t.Error("WithSelector changed what it was given, or lost something of it")
	}
}

// notes is an Interceptor that notes when it is called.
type notes struct {
	name string
	to   *[]string
}

func (n notes) Begin(ctx context.Context, rpc rpcconfig.RPC, next func(context.Context) (rpcconfig.Stream, error)) (rpcconfig.Stream, error) {
	*n.to = append(*n.to, n.name+" "+rpc.Method)
	s, err := next(ctx)
	*n.to = append(*n.to, n.name+" done")
	return s, err
}

func TestChain(t *testing.T) {
	if rpcconfig.Chain() != nil {
		t.Error("a chain of none is not nil")
	}
	var got []string
	c := rpcconfig.Chain(notes{"a", &got}, notes{"b", &got}, notes{"c", &got})
	for range 2 { // it can be used again
		got = nil
		_, err := c.Begin(t.Context(), rpcconfig.RPC{Method: "/s/m"}, func(context.Context) (rpcconfig.Stream, error) {
			got = append(got, "RPC")
			return nil, nil
		})
		want := []string{"a /s/m", "b /s/m", "c /s/m", "RPC", "c done", "b done", "a done"}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
	}
}
