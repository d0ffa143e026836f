// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"context"
	"errors"
	"net"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// names is a DNS server.
type names struct {
	mu      sync.Mutex
	hosts   map[string][]string
	txt     map[string][]string
	hostErr error
	txtErr  error
	hang    bool // lookups of hosts end with their context only
	hangTXT bool // so do those of TXT records
	asked   []string
}

func (n *names) LookupHost(ctx context.Context, host string) ([]string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, host)
	if n.hang {
		n.mu.Unlock()
		<-ctx.Done()
		n.mu.Lock()
		return nil, ctx.Err()
	}
	return n.hosts[host], n.hostErr
}

func (n *names) LookupTXT(ctx context.Context, name string) ([]string, error) {
	if n.hangTXT {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if records, ok := n.txt[name]; ok || n.txtErr != nil {
		return records, n.txtErr
	}
	return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
}

func (n *names) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.asked)
}

func (n *names) set(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
}

// parsed is what the channel's parser makes of JSON.
type parsed struct {
	serviceconfig.Config
	json string
}

// channel keeps what the resolver tells it.
type channel struct {
	resolver.ClientConn
	mu      sync.Mutex
	states  []resolver.State
	errs    []error
	refuse  error
	onState func()
	onParse func()
}

func (c *channel) UpdateState(s resolver.State) error {
	c.mu.Lock()
	c.states = append(c.states, s)
	refuse, onState := c.refuse, c.onState
	c.mu.Unlock()
	if onState != nil {
		onState()
	}
	return refuse
}

func (c *channel) ReportError(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errs = append(c.errs, err)
}

func (c *channel) ParseServiceConfig(json string) *serviceconfig.ParseResult {
	if c.onParse != nil {
		c.onParse()
	}
	return &serviceconfig.ParseResult{Config: parsed{json: json}}
}

func (c *channel) told() (states []resolver.State, errs []error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.states), slices.Clone(c.errs)
}

func addrs(s resolver.State) []string {
	var list []string
	for _, a := range s.Addresses {
		list = append(list, a.Addr)
	}
	return list
}

type fixture struct {
	dns     *names
	builder *Builder
	channel *channel
}

func newFixture() *fixture {
	f := &fixture{dns: &names{hosts: map[string][]string{"host": {"10.0.0.1", "::2"}}}, channel: &channel{}}
	f.builder = testBuilder()
	f.builder.Server = func(string) (Lookuper, error) { return f.dns, nil }
	f.builder.IgnoreTXTErrors = true
	f.builder.Backoff = func(retries int) time.Duration { return time.Second << retries }
	return f
}

func (f *fixture) build(t *testing.T, target string, opts resolver.BuildOptions) resolver.Resolver {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.builder.Build(resolver.Target{URL: *u}, f.channel, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func ask(r resolver.Resolver) { r.ResolveNow(resolver.ResolveNowOptions{}) }

func TestLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.dns.txt = map[string][]string{"_grpc_config.host": {`grpc_config=[{"serviceConfig":{"a":1}}]`}}
		defer f.build(t, "dns:///host:80", resolver.BuildOptions{}).Close()
		synctest.Wait()
		states, errs := f.channel.told()
		if len(states) != 1 || errs != nil {
			t.Fatalf("states %v, errors %v", states, errs)
		}
		if got := addrs(states[0]); !slices.Equal(got, []string{"10.0.0.1:80", "[::2]:80"}) {
			t.Errorf("addresses %q", got)
		}
		if len(states[0].Endpoints) != 2 {
			t.Errorf("endpoints %v", states[0].Endpoints)
		}
		if got := states[0].ServiceConfig.Config.(parsed).json; got != `{"a":1}` {
			t.Errorf("service config %q", got)
		}
	})
}

// TestFailureDoesNotWaitForConfig: that there are no addresses is told while nothing answers about the service config.
func TestFailureDoesNotWaitForConfig(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.dns.hangTXT, f.dns.hostErr = true, &net.DNSError{Err: "no such host", IsNotFound: true}
		defer f.build(t, "dns:///other:80", resolver.BuildOptions{}).Close()
		synctest.Wait()
		if states, errs := f.channel.told(); len(states) != 0 || len(errs) != 1 {
			t.Errorf("states %v, errors %v", states, errs)
		}
	})
}

func TestServiceConfig(t *testing.T) {
	broken := &net.DNSError{Err: "server misbehaving", IsTemporary: true}
	for _, tt := range []struct {
		what    string
		records []string
		err     error
		strict  bool
		off     bool
		noTXT   bool
		want    string // none, error or the JSON
	}{
		{what: "none", want: "none"},
		{what: "for others", records: []string{`grpc_config=[{"percentage":1,"serviceConfig":{}}]`}, want: "none"},
		{what: "invalid", records: []string{"grpc_config=x"}, want: "error"},
		{what: "ignored error", err: broken, want: "none"},
		{what: "error", err: broken, strict: true, want: "error"},
		{what: "not found", strict: true, want: "none"},
		{what: "refused", err: &net.DNSError{Err: "no such records here"}, strict: true, want: "none"},
		{what: "timeout", err: &net.DNSError{Err: "i/o timeout", IsTimeout: true}, strict: true, want: "error"},
		{what: "switched off", records: []string{"grpc_config=x"}, off: true, want: "none"},
		{what: "switched off for all", records: []string{"grpc_config=x"}, noTXT: true, want: "none"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture()
				f.builder.IgnoreTXTErrors = !tt.strict
				f.builder.NoTXT = tt.noTXT
				f.dns.txtErr = tt.err
				if tt.records != nil {
					f.dns.txt = map[string][]string{"_grpc_config.host": tt.records}
				}
				defer f.build(t, "dns:///host", resolver.BuildOptions{DisableServiceConfig: tt.off}).Close()
				synctest.Wait()
				states, _ := f.channel.told()
				got := "none"
				if c := states[0].ServiceConfig; c != nil {
					got = "error"
					if c.Err == nil {
						got = c.Config.(parsed).json
					}
				}
				if got != tt.want {
					t.Errorf("service config %s, want %s", got, tt.want)
				}
			})
		})
	}
}

func TestIPNeedsNoLookup(t *testing.T) {
	f := newFixture()
	before := runtime.NumGoroutine()
	r := f.build(t, "dns:///[::1]:80", resolver.BuildOptions{})
	for late := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() { // a timer's may just end
		if time.Now().After(late) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
	ask(r)
	r.Close()
	states, _ := f.channel.told()
	if len(states) != 1 || addrs(states[0])[0] != "[::1]:80" || f.dns.count() != 0 {
		t.Errorf("states %v, %d lookups", states, f.dns.count())
	}
}

func TestBuildErrors(t *testing.T) {
	f := newFixture()
	for _, endpoint := range []string{"", "host:", "a:b:c"} {
		target := resolver.Target{URL: url.URL{Path: "/" + endpoint}}
		if r, err := f.builder.Build(target, f.channel, resolver.BuildOptions{}); err == nil {
			r.Close()
			t.Errorf("%q: no error", endpoint)
		}
	}
	target := resolver.Target{URL: url.URL{Host: "server:", Path: "/host"}}
	if _, err := NewBuilder().Build(target, f.channel, resolver.BuildOptions{}); err == nil {
		t.Error("no error for a bad authority")
	}
}

func TestMinInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		r := f.build(t, "dns:///host", resolver.BuildOptions{})
		defer r.Close()
		synctest.Wait()
		time.Sleep(10 * time.Second)
		for range 5 {
			ask(r)
		}
		time.Sleep(19 * time.Second)
		if n := f.dns.count(); n != 1 {
			t.Errorf("%d lookups in 29 s", n)
		}
		time.Sleep(2 * time.Second)
		if n := f.dns.count(); n != 2 {
			t.Errorf("%d lookups in 31 s", n)
		}
		time.Sleep(time.Hour)
		if n := f.dns.count(); n != 2 {
			t.Errorf("%d lookups in an hour that nobody asked in", n)
		}
		ask(r)
		synctest.Wait()
		if n := f.dns.count(); n != 3 {
			t.Errorf("%d lookups after an hour's rest", n)
		}
	})
}

func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.dns.hostErr = errors.New("broken")
		start := time.Now()
		r := f.build(t, "dns:///host", resolver.BuildOptions{})
		defer r.Close()
		for i, at := range []time.Duration{0, 1, 3, 7, 15} {
			time.Sleep(at*time.Second + 1 - time.Since(start))
			synctest.Wait()
			ask(r) // makes no difference
			if n := f.dns.count(); n != i+1 {
				t.Errorf("%d lookups after %v s, want %d", n, int(at), i+1)
			}
		}
		if _, errs := f.channel.told(); len(errs) != 5 || !strings.Contains(errs[0].Error(), "broken") {
			t.Errorf("errors %v", errs)
		}
		f.dns.set(func() { f.dns.hostErr = nil })
		time.Sleep(16 * time.Second)
		f.dns.set(func() { f.dns.hostErr = errors.New("again") })
		time.Sleep(time.Hour)
		if n := f.dns.count(); n != 6 {
			t.Errorf("%d lookups, want no more than 6 after one succeeded", n)
		}
		ask(r)
		time.Sleep(time.Second + 1)
		if n := f.dns.count(); n != 8 {
			t.Errorf("%d lookups: the back-off did not begin anew", n)
		}
	})
}

func TestChannelRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.channel.refuse = errors.New("no use")
		defer f.build(t, "dns:///host", resolver.BuildOptions{}).Close()
		time.Sleep(3*time.Second + 1)
		states, errs := f.channel.told()
		if len(states) != 3 || errs != nil {
			t.Errorf("%d states, errors %v", len(states), errs)
		}
	})
}

// TestProgramEndsTheGoroutine: a policy's code, or a parser's, that ends a lookup's goroutine is a failed lookup.
func TestProgramEndsTheGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		first := true
		f.channel.onState = func() {
			if first {
				first = false
				runtime.Goexit()
			}
		}
		defer f.build(t, "dns:///host", resolver.BuildOptions{}).Close()
		time.Sleep(3 * time.Second)
		if states, _ := f.channel.told(); len(states) != 2 {
			t.Errorf("%d states", len(states))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.dns.txt = map[string][]string{"_grpc_config.host": {`grpc_config=[{"serviceConfig":{}}]`}}
		f.channel.onParse = runtime.Goexit
		defer f.build(t, "dns:///host", resolver.BuildOptions{}).Close()
		synctest.Wait()
		if states, _ := f.channel.told(); len(states) != 1 || states[0].ServiceConfig != nil {
			t.Errorf("%v", states)
		}
	})
}

func TestBadAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.dns.hosts["host"] = []string{"10.0.0.1", "what"}
		defer f.build(t, "dns:///host", resolver.BuildOptions{}).Close()
		synctest.Wait()
		if states, errs := f.channel.told(); states != nil || len(errs) != 1 {
			t.Errorf("states %v, errors %v", states, errs)
		}
	})
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.dns.hang = true
		defer f.build(t, "dns:///host", resolver.BuildOptions{}).Close()
		time.Sleep(30*time.Second + 1)
		synctest.Wait()
		if _, errs := f.channel.told(); len(errs) != 1 || !errors.Is(errs[0], context.DeadlineExceeded) {
			t.Errorf("errors %v", errs)
		}
	})
}

func TestCloseDuringLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.dns.hang = true
		r := f.build(t, "dns:///host", resolver.BuildOptions{})
		synctest.Wait()
		r.Close()
		ask(r)
		time.Sleep(time.Hour)
		if states, errs := f.channel.told(); states != nil || errs != nil || f.dns.count() != 1 {
			t.Errorf("states %v, errors %v, %d lookups", states, errs, f.dns.count())
		}
	})
}

func TestCloseFromUpdateState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		ready := make(chan resolver.Resolver, 1)
		f.channel.onState = func() { (<-ready).Close() }
		ready <- f.build(t, "dns:///host", resolver.BuildOptions{})
		time.Sleep(time.Hour)
		if n := f.dns.count(); n != 1 {
			t.Errorf("%d lookups", n)
		}
	})
}

func TestCloseDuringWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		r := f.build(t, "dns:///host", resolver.BuildOptions{})
		synctest.Wait()
		ask(r)
		r.Close()
		time.Sleep(time.Hour)
		if n := f.dns.count(); n != 1 {
			t.Errorf("%d lookups", n)
		}
	})
}

func TestIdleHasNoGoroutine(t *testing.T) {
	f := newFixture()
	told := make(chan struct{})
	f.channel.onState = func() { close(told) }
	r := f.build(t, "dns:///host", resolver.BuildOptions{})
	defer r.Close()
	<-told
	ask(r) // a lookup is due in 30 s
	await(t, func() bool { return !running("(*dnsResolver)") })
}

// running says whether a goroutine is in a function of that name.
func running(name string) bool {
	stacks := make([]byte, 1<<20)
	return strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), name)
}

// await yields until the condition holds.
func await(t *testing.T, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !condition(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("it takes too long")
		}
	}
}
