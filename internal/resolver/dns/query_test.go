// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	grpclbstate "google.golang.org/grpc/balancer/grpclb/state"
	"google.golang.org/grpc/resolver"
)

// records is a DNS server whose answers a test sets for each name.
type records struct {
	names
	srv      []*net.SRV
	srvErr   error
	errs     map[string]error // of lookups of hosts
	srvHangs bool             // SRV lookups end with their context only
}

func (r *records) LookupSRV(ctx context.Context, _, _, _ string) (string, []*net.SRV, error) {
	if r.srvHangs {
		<-ctx.Done()
		return "", nil, ctx.Err()
	}
	return "", r.srv, r.srvErr
}

func (r *records) LookupHost(ctx context.Context, host string) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := r.errs[host]; err != nil {
		return nil, err
	}
	return r.hosts[host], nil
}

func newRecords() *records {
	return &records{
		names: names{hosts: map[string][]string{"lb1.": {"10.0.0.1"}, "lb2.": {"10.0.0.2"}, "host": {"10.0.0.8", "10.0.0.9"}}},
		srv:   []*net.SRV{{Target: "lb1.", Port: 1}, {Target: "lb2.", Port: 2}},
		errs:  map[string]error{},
	}
}

func balancersOf(s resolver.State) []resolver.Address {
	if own := grpclbstate.Get(s); own != nil {
		return own.BalancerAddresses
	}
	return nil
}

// TestKnown: a lookup that fails for a while does not take away what an earlier one found, and one
// that finds nothing does.
func TestKnown(t *testing.T) {
	EnableSRV()
	defer srvEnabled.Store(false)
	broken := &net.DNSError{Err: "server misbehaving", IsTemporary: true}
	missing := &net.DNSError{Err: "no such host", IsNotFound: true}
	for name, tt := range map[string]struct {
		second               func(*records)
		balancers, addresses int
		fails                bool
	}{
		"SRV broken":            {func(r *records) { r.srv, r.srvErr = nil, broken }, 2, 2, false},
		"SRV gone":              {func(r *records) { r.srv, r.srvErr = nil, missing }, 0, 2, false},
		"a balancer broken":     {func(r *records) { r.errs["lb1."] = broken }, 2, 2, false},
		"a balancer gone":       {func(r *records) { r.errs["lb1."] = missing }, 1, 2, false},
		"no IP address":         {func(r *records) { r.hosts["lb1."] = []string{"x"} }, 2, 2, false},
		"A broken":              {func(r *records) { r.errs["host"] = broken }, 2, 2, false},
		"A gone":                {func(r *records) { r.errs["host"] = missing }, 2, 0, false},
		"all broken":            {func(r *records) { r.srvErr, r.errs["host"] = broken, broken }, 0, 0, true},
		"SRV broken, A gone":    {func(r *records) { r.srvErr, r.errs["host"] = broken, missing }, 2, 0, false},
		"SRV gone, A broken":    {func(r *records) { r.srvErr, r.errs["host"] = missing, broken }, 0, 0, true},
		"both gone":             {func(r *records) { r.srvErr, r.errs["host"] = missing, missing }, 0, 0, true},
		"a balancer, A, broken": {func(r *records) { r.errs["lb1."], r.errs["host"] = broken, broken }, 0, 0, true},
	} {
		r := newRecords()
		q := &query{Builder: NewBuilder(), server: r, host: hostPort{"host", "443"}, noConfig: true}
		if s, err := q.run(t.Context(), nil); err != nil || len(balancersOf(s)) != 2 || len(s.Addresses) != 2 {
			t.Fatalf("%s: %v, %v", name, s, err)
		}
		tt.second(r)
		s, err := q.run(t.Context(), nil)
		if len(balancersOf(s)) != tt.balancers || len(s.Addresses) != tt.addresses || (err != nil) != tt.fails {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
}

// TestOneBalancerStaysBroken: a load balancer whose lookups fail from now on hides no change of the others.
func TestOneBalancerStaysBroken(t *testing.T) {
	EnableSRV()
	defer srvEnabled.Store(false)
	r := newRecords()
	r.srv = append(r.srv, &net.SRV{Target: "lb1.", Port: 10})
	q := &query{Builder: NewBuilder(), server: r, host: hostPort{"host", "443"}, noConfig: true}
	for i, want := range [][]string{
		{"10.0.0.1:1", "10.0.0.2:2", "10.0.0.1:10"},
		{"10.0.0.1:1", "10.0.0.1:10", "10.0.0.3:3"},
		{"10.0.0.1:10", "10.0.0.3:3"},
	} {
		switch i {
		case 1:
			r.errs["lb1."] = errors.New("refused")
			r.hosts["lb3."] = []string{"10.0.0.3"}
			r.srv = []*net.SRV{r.srv[0], r.srv[2], {Target: "lb3.", Port: 3}}
		case 2:
			r.srv = r.srv[1:]
		}
		s, err := q.run(t.Context(), nil)
		var got []string
		for _, a := range balancersOf(s) {
			got = append(got, a.Addr)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("lookup %d: %v, %v; want %v", i, got, err, want)
		}
	}
}

// TestSomeBalancers: at first, too, the load balancers whose addresses are known are used, and A
// records that can't be looked up do not matter.
func TestSomeBalancers(t *testing.T) {
	EnableSRV()
	defer srvEnabled.Store(false)
	r := newRecords()
	r.errs["lb1."] = errors.New("refused")
	q := &query{Builder: NewBuilder(), server: r, host: hostPort{"host", "443"}, noConfig: true}
	if s, err := q.run(t.Context(), nil); err != nil || len(balancersOf(s)) != 1 || len(s.Addresses) != 2 {
		t.Errorf("%v, %v", s, err)
	}
	r = newRecords()
	r.errs["host"] = errors.New("refused")
	q.server, q.known = r, nil
	if s, err := q.run(t.Context(), nil); err != nil || len(balancersOf(s)) != 2 || len(s.Addresses) != 0 {
		t.Errorf("%v, %v", s, err)
	}
}

// TestNoAnswerToSRV: a server that drops queries for SRV records leaves time for the addresses.
func TestNoAnswerToSRV(t *testing.T) {
	EnableSRV()
	defer srvEnabled.Store(false)
	synctest.Test(t, func(t *testing.T) {
		r := newRecords()
		r.srvHangs = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		q := &query{Builder: NewBuilder(), server: r, host: hostPort{"host", "443"}, noConfig: true}
		if s, err := q.run(ctx, nil); err != nil || len(s.Addresses) != 2 {
			t.Errorf("%v, %v", s, err)
		}
	})
}
