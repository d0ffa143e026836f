// SPDX-License-Identifier: Apache-2.0

package buildoptions

import (
	"context"
	"net"
	"net/url"
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/balancer/lbtest"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/resolver"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// owner is one that has options.
type owner struct {
	lbtest.ClientConn
	opts balancer.BuildOptions
}

func (o *owner) BuildOptions() balancer.BuildOptions { return o.opts }

// uncomparable is credentials that == panics for.
type uncomparable struct {
	credentials.TransportCredentials
	_ []int
}

func TestKeep(t *testing.T) {
	target := func(path string) resolver.Target { return resolver.Target{URL: url.URL{Scheme: "s", Path: path}} }
	dial := func(context.Context, string) (net.Conn, error) { return nil, nil }
	for _, tt := range []struct {
		name       string
		has, given balancer.BuildOptions
		shared     bool
	}{
		{"nothing", balancer.BuildOptions{}, balancer.BuildOptions{}, true},
		{"the same", balancer.BuildOptions{Authority: "a", Target: target("x")}, balancer.BuildOptions{Authority: "a", Target: target("x")}, true},
		{"another authority", balancer.BuildOptions{Authority: "a"}, balancer.BuildOptions{Authority: "b"}, false},
		{"another target", balancer.BuildOptions{Target: target("x")}, balancer.BuildOptions{Target: target("y")}, false},
		{"another user agent", balancer.BuildOptions{}, balancer.BuildOptions{CustomUserAgent: "b"}, false},
		{"other credentials", balancer.BuildOptions{}, balancer.BuildOptions{DialCreds: credentials.NewTLS(nil)}, false},
		{"credentials that can't be compared", balancer.BuildOptions{DialCreds: uncomparable{}}, balancer.BuildOptions{DialCreds: uncomparable{}}, false},
		{"a dialer", balancer.BuildOptions{Dialer: dial}, balancer.BuildOptions{Dialer: dial}, false},
	} {
		cc := &owner{opts: tt.has}
		k := Keep(cc, tt.given)
		if shared := k.own == nil; shared != tt.shared {
			t.Errorf("%s: shared: %t", tt.name, shared)
		}
		if got := k.Of(cc); got.Authority != tt.given.Authority || got.CustomUserAgent != tt.given.CustomUserAgent || got.Target != tt.given.Target {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
	if k := Keep(&lbtest.ClientConn{}, balancer.BuildOptions{Authority: "a"}); k.Of(&lbtest.ClientConn{}).Authority != "a" {
		t.Error("lost where nobody has them")
	}
}
