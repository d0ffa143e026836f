// SPDX-License-Identifier: Apache-2.0

package manual_test

import (
	"errors"
	"testing"

	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

type channel struct {
	resolver.ClientConn
	got []string
	err error
}

func (c *channel) UpdateState(s resolver.State) error {
	c.got = append(c.got, s.Addresses[0].Addr)
	return c.err
}

func state(addr string) resolver.State {
	return resolver.State{Addresses: []resolver.Address{{Addr: addr}}}
}

func TestResolver(t *testing.T) {
	refused := errors.New("refused")
	r := manual.NewBuilderWithScheme("test")
	var errs []error
	var built, asked, closed int
	r.BuildCallback = func(resolver.Target, resolver.ClientConn, resolver.BuildOptions) { built++ }
	r.UpdateStateCallback = func(err error) { errs = append(errs, err) }
	r.ResolveNowCallback = func(resolver.ResolveNowOptions) { asked++ }
	r.CloseCallback = func() { closed++ }
	if r.Scheme() != "test" {
		t.Errorf("scheme %q", r.Scheme())
	}

	r.InitialState(state("first"))
	c := &channel{}
	made, err := r.Build(resolver.Target{}, c, resolver.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if r.CC() != c {
		t.Error("CC is not the channel")
	}
	c.err = refused
	r.UpdateState(state("second"))
	made.ResolveNow(resolver.ResolveNowOptions{})
	made.Close()

	again := &channel{}
	if _, err := r.Build(resolver.Target{}, again, resolver.BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	if len(c.got) != 2 || c.got[0] != "first" || c.got[1] != "second" {
		t.Errorf("the channel got %q", c.got)
	}
	if len(again.got) != 1 || again.got[0] != "second" {
		t.Errorf("the next channel got %q", again.got)
	}
	if len(errs) != 3 || errs[0] != nil || errs[1] != refused || errs[2] != nil {
		t.Errorf("errors %v", errs)
	}
	if built != 2 || asked != 1 || closed != 1 {
		t.Errorf("built %d, asked %d, closed %d", built, asked, closed)
	}
}

func TestBeforeBuild(t *testing.T) {
	r := manual.NewBuilderWithScheme("test")
	r.UpdateState(state("early"))
	c := &channel{}
	if _, err := r.Build(resolver.Target{}, c, resolver.BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	if len(c.got) != 1 || c.got[0] != "early" {
		t.Errorf("the channel got %q", c.got)
	}

	defer func() {
		if recover() == nil {
			t.Error("CC before Build does not panic")
		}
	}()
	manual.NewBuilderWithScheme("test").CC()
}
