// SPDX-License-Identifier: Apache-2.0

package resolver

import (
	"context"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/internal/ringhash"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/xds/call"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// TestA28Select: the first route that matches counts, and what it has no action for fails.
func TestA28Select(t *testing.T) {
	f := newFixture(t)
	f.Update(config(t, host(to("/a/", `cluster: "a"`)+`routes { match { prefix: "/none/" } redirect {} } `+to("/nobody/", `cluster: ""`)+to("/b/", `cluster: "b"`)+to("/a", `cluster: "b"`)), "a", "b"), nil)
	for method, want := range map[string]string{"/a/m": "a", "/b/m": "b", "/ax/m": "b"} {
		choice := f.must(method)
		i := call.From(choice.Context)
		if i == nil || i.Cluster != want || i.Child != "cluster:"+want || i.Resource.Name != want || i.Route == nil {
			t.Errorf("%s: %+v", method, i)
		}
		choice.Committed()
	}
	const noAction = "matched route does not have a supported route action type"
	for method, want := range map[string]string{"/x/m": "no matching route was found", "/none/m": noAction, "/nobody/m": noAction} {
		if _, err := f.sel(method); status.Code(err) != codes.Unavailable || status.Convert(err).Message() != "[xDS node id: me] "+want {
			t.Errorf("%s: %v, want %v", method, err, want)
		}
	}
}

// TestA31Timeout: a route's bound comes before the Listener's, and 0 is none.
func TestA31Timeout(t *testing.T) {
	for _, tt := range []struct {
		route    string
		listener time.Duration
		want     time.Duration // 0: none
	}{
		{"", 0, 0},
		{"", time.Minute, time.Minute},
		{"max_stream_duration { max_stream_duration { seconds: 5 } }", time.Minute, 5 * time.Second},
		{"max_stream_duration { max_stream_duration { seconds: 0 } }", time.Minute, 0},
		{"max_stream_duration { max_stream_duration { seconds: 5 } grpc_timeout_header_max { seconds: 7 } }", 0, 7 * time.Second},
	} {
		f := newFixture(t)
		c := config(t, host(to("", `cluster: "a" `+tt.route)), "a")
		c.Listener.API.MaxDuration = tt.listener
		f.Update(c, nil)
		choice := f.must("/s/m")
		var got time.Duration
		if choice.Method.Timeout != nil {
			got = *choice.Method.Timeout
		}
		if got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
		choice.Committed()
	}
}

// TestA44Retry: a route's policy comes before the virtual host's.
func TestA44Retry(t *testing.T) {
	f := newFixture(t)
	policy := func(n string) string {
		return `retry_policy { retry_on: "unavailable,internal" num_retries { value: ` + n + ` } retry_back_off { base_interval { nanos: 5000000 } } } `
	}
	f.Update(config(t, host(policy("1")+to("/own/", `cluster: "a" `+policy("3"))+to("", `cluster: "a"`)), "a"), nil)
	for method, want := range map[string]int{"/own/m": 4, "/s/m": 2} {
		choice := f.must(method)
		p := choice.Method.RetryPolicy
		if p == nil || p.MaxAttempts != want || p.InitialBackoff != 5*time.Millisecond || p.MaxBackoff != 50*time.Millisecond ||
			p.BackoffMultiplier != 2 || !p.RetryableStatusCodes[codes.Unavailable] || !p.RetryableStatusCodes[codes.Internal] || p.RetryableStatusCodes[codes.Aborted] {
			t.Errorf("%s: %+v", method, p)
		}
		choice.Committed()
	}
}

// TestA42Hash: RPCs have the hash that their route makes of them, the channel's number, or one of
// their own.
func TestA42Hash(t *testing.T) {
	f := newFixture(t)
	f.Update(config(t, host(
		to("/header/", `cluster: "a" hash_policy { header { header_name: "user" } }`)+
			to("/channel/", `cluster: "a" hash_policy { filter_state { key: "io.grpc.channel_id" } }`)+
			to("", `cluster: "a"`)), "a"), nil)
	s, _ := f.cc.last()
	hash := func(method, user string) uint64 {
		choice, err := rpcconfig.SelectorOf(s).Select(t.Context(), method, ctxkey.OutgoingFrom(metadata.AppendToOutgoingContext(t.Context(), "user", user)))
		if err != nil {
			t.Fatal(err)
		}
		defer choice.Committed()
		h, ok := ringhash.Hash(choice.Context)
		if !ok {
			t.Errorf("%s has no hash", method)
		}
		return h
	}
	of := func(method string) [3]uint64 {
		return [3]uint64{hash(method, "u"), hash(method, "u"), hash(method, "v")}
	}
	if h := of("/header/m"); h[0] != h[1] || h[0] == h[2] {
		t.Error("the header is not what counts")
	}
	if h := of("/channel/m"); h[0] != h[2] {
		t.Error("the channel is not what counts")
	}
	if h := of("/s/m"); h[0] == h[1] {
		t.Error("RPCs have the same hash by chance")
	}
}

// TestA28Weights: clusters get their shares.
func TestA28Weights(t *testing.T) {
	f := newFixture(t)
	f.Update(config(t, host(to("", `weighted_clusters { clusters { name: "a" weight { value: 1 } } clusters { name: "b" weight { value: 3 } } }`)), "a", "b"), nil)
	got := make(map[string]int)
	for range 4000 {
		choice := f.must("/s/m")
		got[call.From(choice.Context).Cluster]++
		choice.Committed()
	}
	if got["a"] < 800 || got["a"] > 1200 || got["a"]+got["b"] != 4000 {
		t.Errorf("%v, want 1 to 3", got)
	}
}

// TestA60Choose: a filter sends an RPC to another cluster of its route, and to no other; the RPC has
// its use there from then on.
func TestA60Choose(t *testing.T) {
	f := newFixture(t)
	f.Update(config(t, host(to("/two/", `weighted_clusters { clusters { name: "a" weight { value: 1 } } clusters { name: "b" weight { value: 1 } } }`)+to("", `cluster: "c"`)), "a", "b", "c"), nil)
	choice := f.must("/two/m")
	i := call.From(choice.Context)
	other := map[string]string{"a": "b", "b": "a"}[i.Cluster]
	if !i.ChooseCluster(i.Cluster) || i.ChooseCluster("c") || i.ChooseCluster("none") || !i.ChooseCluster(other) {
		t.Error("the wrong clusters can be chosen")
	}
	if i.Cluster != other || i.Child != "cluster:"+other || i.Resource.Name != other {
		t.Errorf("%+v, want %s", i, other)
	}
	f.Update(config(t, host(to("", `cluster: "c"`)), "c"), nil)
	f.wantChildren("cluster:"+other, "cluster:c")
	choice.Committed()
	f.flush()
	f.wantChildren("cluster:c")
}

// TestContext: the RPC's context is derived from the caller's, and prints without a walk through it.
func TestContext(t *testing.T) {
	f := newFixture(t)
	f.Update(config(t, host(to("", `cluster: "a"`)), "a"), nil)
	type key struct{}
	s, _ := f.cc.last()
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "v"))
	choice, err := rpcconfig.SelectorOf(s).Select(ctx, "/s/m", ctxkey.OutgoingFrom(ctx))
	if err != nil {
		t.Fatal(err)
	}
	defer choice.Committed()
	if choice.Context.Value(key{}) != "v" {
		t.Error("the caller's values are lost")
	}
	cancel()
	if choice.Context.Err() == nil {
		t.Error("the caller's end is not its own")
	}
}

// TestManyAtOnce: RPCs come and go while routes change; in the end nothing is left of what they used.
func TestManyAtOnce(t *testing.T) {
	f := newFixture(t)
	one, two := config(t, host(to("", `cluster: "a"`)), "a"), config(t, host(to("", `weighted_clusters { clusters { name: "b" weight { value: 1 } } clusters { name: "c" weight { value: 1 } } }`)), "b", "c")
	f.Update(one, nil)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 500 {
				// The channel calls no selector that UpdateState has taken the place of, which
				// the mutex of a channel sees to.
				f.cc.mu.Lock()
				choice, err := rpcconfig.SelectorOf(f.cc.states[len(f.cc.states)-1]).Select(f.Context(), "/s/m", nil)
				f.cc.mu.Unlock()
				if err != nil {
					t.Error(err)
					return
				}
				call.From(choice.Context).ChooseCluster("c")
				choice.Committed()
			}
		})
	}
	for i := range 200 {
		if i%2 == 0 {
			f.Update(two, nil)
		} else {
			f.Update(one, nil)
		}
	}
	wg.Wait()
	f.flush()
	f.Update(one, nil)
	f.flush()
	f.wantChildren("cluster:a")
	for name, c := range f.clusters {
		if n := c.users.Load(); n != 1 {
			t.Errorf("%s has %d users, of which the routes are one", name, n)
		}
	}
}

// TestA39Interceptors: only filters that do something for a client stand around its RPCs.
func TestA39Interceptors(t *testing.T) {
	f := newFixture(t)
	c := config(t, host(to("", `cluster: "a"`)), "a")
	c.Listener.API.Filters = []resource.Filter{}
	f.Update(c, nil)
	choice := f.must("/s/m")
	defer choice.Committed()
	if choice.Interceptor != nil {
		t.Error("something stands around RPCs, though there is no filter")
	}
}

// asked is a context that notes whether it is asked for a value.
type asked struct {
	context.Context
	yes *bool
}

func (a asked) Value(key any) any {
	*a.yes = true
	return a.Context.Value(key)
}

// TestSelectAsksNoContext: the context is the program's, and the channel holds a lock.
func TestSelectAsksNoContext(t *testing.T) {
	f := newFixture(t)
	f.Update(config(t, host(to("", `cluster: "a"`)), "a"), nil)
	s, _ := f.cc.last()
	var yes bool
	choice, err := rpcconfig.SelectorOf(s).Select(asked{t.Context(), &yes}, "/s/m", nil)
	if err != nil {
		t.Fatal(err)
	}
	choice.Committed()
	if yes {
		t.Error("it asks the context")
	}
}

// TestSelectAllocates holds what choosing for an RPC takes.
func TestSelectAllocates(t *testing.T) {
	f := newFixture(t)
	f.Update(config(t, host(to("/a/", `cluster: "a"`)+to("", `cluster: "b"`)), "a", "b"), nil)
	s, _ := f.cc.last()
	selector, ctx := rpcconfig.SelectorOf(s), t.Context()
	if n := testing.AllocsPerRun(1000, func() {
		choice, err := selector.Select(ctx, "/b/m", nil)
		if err != nil {
			t.Fatal(err)
		}
		choice.Committed()
	}); n > 4 {
		t.Errorf("%v allocations", n)
	}
}
