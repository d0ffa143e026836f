// SPDX-License-Identifier: Apache-2.0

package manual_test

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

type channel struct {
	resolver.ClientConn
	onState func(addr string) // runs before the state is noted; nil for nothing
	err     error

	mu  sync.Mutex
	got []string
}

func (c *channel) UpdateState(s resolver.State) error {
	addr := s.Addresses[0].Addr
	if c.onState != nil {
		c.onState(addr)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got = append(c.got, addr)
	return c.err
}

func state(addr string) resolver.State {
	return resolver.State{Addresses: []resolver.Address{{Addr: addr}}}
}

func TestResolver(t *testing.T) { synctest.Test(t, testResolver) }

func testResolver(t *testing.T) {
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
	synctest.Wait() // for the callback
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
	synctest.Wait()
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

// TestBuildDoesNotWaitForCallback has a callback that needs Build to return.
func TestBuildDoesNotWaitForCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := manual.NewBuilderWithScheme("test")
		refused := errors.New("refused")
		built := make(chan struct{})
		answer := make(chan error)
		r.UpdateStateCallback = func(err error) {
			<-built
			answer <- err
		}
		r.InitialState(state("first"))
		if _, err := r.Build(resolver.Target{}, &channel{err: refused}, resolver.BuildOptions{}); err != nil {
			t.Fatal(err)
		}
		close(built)
		if err := <-answer; err != refused {
			t.Errorf("the callback got %v", err)
		}
	})
}

// TestOrder has a newer state come while the channel takes an older one.
func TestOrder(t *testing.T) {
	r := manual.NewBuilderWithScheme("test")
	var newer sync.WaitGroup
	next := map[string]string{"first": "second", "second": "third"}
	c := &channel{onState: func(addr string) {
		to, ok := next[addr]
		if !ok {
			return
		}
		newer.Go(func() { r.UpdateState(state(to)) })
		for range 1000 { // time enough to overtake
			runtime.Gosched()
		}
	}}
	r.InitialState(state("first"))
	if _, err := r.Build(resolver.Target{}, c, resolver.BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	newer.Wait()
	if want := []string{"first", "second", "third"}; !slices.Equal(c.got, want) {
		t.Errorf("the channel got %q, want %q", c.got, want)
	}
}

// TestCallBack has the channel and the callback of a state use the resolver.
func TestCallBack(t *testing.T) {
	r := manual.NewBuilderWithScheme("test")
	c := &channel{}
	c.onState = func(string) {
		if r.CC() != c {
			t.Error("CC is not the channel")
		}
	}
	if _, err := r.Build(resolver.Target{}, c, resolver.BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	r.UpdateStateCallback = func(error) {
		r.UpdateStateCallback = func(error) {}
		r.UpdateState(state("second"))
	}
	r.UpdateState(state("first"))
	if want := []string{"first", "second"}; !slices.Equal(c.got, want) {
		t.Errorf("the channel got %q, want %q", c.got, want)
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

// TestCCWaitsForBuild: who hears of a Build by its callback gets the channel of that Build.
func TestCCWaitsForBuild(t *testing.T) {
	r := manual.NewBuilderWithScheme("x")
	for range 2 {
		cc := new(channel)
		begun, got := make(chan struct{}), make(chan resolver.ClientConn, 1)
		r.BuildCallback = func(resolver.Target, resolver.ClientConn, resolver.BuildOptions) {
			close(begun)
			for range 1000 {
				runtime.Gosched()
			}
		}
		go func() {
			<-begun
			got <- r.CC()
		}()
		if _, err := r.Build(resolver.Target{}, cc, resolver.BuildOptions{}); err != nil {
			t.Fatal(err)
		}
		if <-got != resolver.ClientConn(cc) {
			t.Error("another channel")
		}
	}
}
