// SPDX-License-Identifier: Apache-2.0

package randomsubsetting

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/internal/balancer/lbtest"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/resolver"
)

// child keeps what it gets.
type child struct {
	balancer.Balancer
	states []balancer.ClientConnState
	errs   []error
}

func (c *child) UpdateClientConnState(s balancer.ClientConnState) error {
	c.states = append(c.states, s)
	return nil
}

func (c *child) ResolverError(err error) { c.errs = append(c.errs, err) }

func (c *child) Close() {}

// childBuilder builds the latest child.
type childBuilder struct{ latest *child }

func (b *childBuilder) Name() string { return "child" }

func (b *childBuilder) Build(balancer.ClientConn, balancer.BuildOptions) balancer.Balancer {
	b.latest = &child{}
	return b.latest
}

var children = &childBuilder{}

func TestMain(m *testing.M) {
	balancer.Register(children)
	leakcheck.Main(m)
}

func endpoints(n int) (all []resolver.Endpoint) {
	for i := range n {
		all = append(all, resolver.Endpoint{Addresses: []resolver.Address{{Addr: fmt.Sprintf("10.0.0.%d:80", i)}, {Addr: "shared"}}})
	}
	return all
}

func names(endpoints []resolver.Endpoint) (all []string) {
	for _, e := range endpoints {
		all = append(all, e.Addresses[0].Addr)
	}
	slices.Sort(all)
	return all
}

func TestUpdate(t *testing.T) {
	lb := builder{}.Build(&lbtest.ClientConn{}, balancer.BuildOptions{})
	update := func(size, n int) resolver.State {
		t.Helper()
		c, err := builder{}.ParseConfig(fmt.Appendf(nil, `{"subsetSize": %d, "childPolicy": [{"none": {}}, {"child": {}}]}`, size))
		if err != nil {
			t.Fatal(err)
		}
		s := resolver.State{Endpoints: endpoints(n)}
		if err := lb.UpdateClientConnState(balancer.ClientConnState{ResolverState: s, BalancerConfig: c}); err != nil {
			t.Fatal(err)
		}
		return children.latest.states[len(children.latest.states)-1].ResolverState
	}
	if s := update(5, 3); len(s.Endpoints) != 3 {
		t.Errorf("5 of 3: %d", len(s.Endpoints))
	}
	first := update(5, 20)
	if len(first.Endpoints) != 5 || len(first.Addresses) != 10 {
		t.Errorf("5 of 20: %d, %d addresses", len(first.Endpoints), len(first.Addresses))
	}
	if again := update(5, 20); !slices.Equal(names(again.Endpoints), names(first.Endpoints)) {
		t.Error("the same update chooses others")
	}
	more := update(6, 20)
	for _, name := range names(first.Endpoints) {
		if !slices.Contains(names(more.Endpoints), name) {
			t.Errorf("6 of 20 has not %s of 5 of 20", name)
		}
	}
	want := errors.New("lost")
	lb.ResolverError(want)
	if len(children.latest.errs) != 1 || children.latest.errs[0] != want {
		t.Errorf("the child heard %v", children.latest.errs)
	}
	if err := lb.UpdateClientConnState(balancer.ClientConnState{}); !errors.Is(err, balancer.ErrBadResolverState) {
		t.Errorf("no configuration: %v", err)
	}
	lb.Close()
}

func TestOneComesOneChanges(t *testing.T) {
	b := builder{}.Build(&lbtest.ClientConn{}, balancer.BuildOptions{}).(*subsetting)
	before := names(b.choose(endpoints(10), 4))
	for n := 11; n < 100; n++ {
		after := names(b.choose(endpoints(n), 4))
		stay := 0
		for _, name := range before {
			if slices.Contains(after, name) {
				stay++
			}
		}
		if stay < 3 {
			t.Errorf("with one more than %d, only %d of 4 stay", n-1, stay)
		}
		before = after
	}
	b.Close()
}

func TestChoicesAreEven(t *testing.T) {
	const clients, servers, size = 2000, 10, 3
	count := make(map[string]float64)
	for range clients {
		b := builder{}.Build(&lbtest.ClientConn{}, balancer.BuildOptions{}).(*subsetting)
		for _, name := range names(b.choose(endpoints(servers), size)) {
			count[name]++
		}
	}
	const p = float64(size) / servers
	for name, n := range count {
		if math.Abs(n-clients*p) > 5*math.Sqrt(clients*p*(1-p)) {
			t.Errorf("%s was chosen %v times of %d", name, n, clients)
		}
	}
	if len(count) != servers {
		t.Errorf("%d servers were chosen", len(count))
	}
}

func TestEndpointsWithoutAddress(t *testing.T) {
	b := builder{}.Build(&lbtest.ClientConn{}, balancer.BuildOptions{}).(*subsetting)
	all := append(make([]resolver.Endpoint, 5), endpoints(2)...)
	if got := b.choose(all, 3); len(got) != 2 {
		t.Errorf("chosen: %v", got)
	}
	b.Close()
}

func TestBadConfigs(t *testing.T) {
	for _, js := range []string{
		`{}`,
		`[]`,
		`{"subsetSize": 0, "childPolicy": [{"child": {}}]}`,
		`{"subsetSize": -1, "childPolicy": [{"child": {}}]}`,
		`{"subsetSize": 5}`,
		`{"subsetSize": 5, "childPolicy": []}`,
		`{"subsetSize": 5, "childPolicy": [{"none": {}}]}`,
		`{"childPolicy": [{"child": {}}]}`,
	} {
		if c, err := (builder{}).ParseConfig([]byte(js)); err == nil {
			t.Errorf("%s: %v, want an error", js, c)
		}
	}
}
