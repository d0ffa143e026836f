// SPDX-License-Identifier: Apache-2.0

package unix_test

import (
	"net/url"
	"testing"

	"google.golang.org/grpc/internal/resolver/networktype"
	_ "google.golang.org/grpc/internal/resolver/unix"
	"google.golang.org/grpc/resolver"
)

type channel struct {
	resolver.ClientConn
	got []resolver.State
}

func (c *channel) UpdateState(s resolver.State) error {
	c.got = append(c.got, s)
	return nil
}

func TestBuild(t *testing.T) {
	for _, tt := range []struct {
		target, addr string // no address: an error
	}{
		{"unix:a.sock", "a.sock"},
		{"unix:./a.sock", "./a.sock"},
		{"unix:/tmp/a.sock", "/tmp/a.sock"},
		{"unix:///tmp/a.sock", "/tmp/a.sock"},
		{"unix://tmp/a.sock", ""},
		{"unix-abstract:name", "@name"},
		{"unix-abstract:a-b.c/d", "@a-b.c/d"},
		{"unix-abstract:///name", "@/name"},
		{"unix-abstract://host/name", ""},
	} {
		u, err := url.Parse(tt.target)
		if err != nil {
			t.Fatal(err)
		}
		b, c, target := resolver.Get(u.Scheme), &channel{}, resolver.Target{URL: *u}
		if got := b.(resolver.AuthorityOverrider).OverrideAuthority(target); got != "localhost" {
			t.Errorf("%s: authority %q", tt.target, got)
		}
		r, err := b.Build(target, c, resolver.BuildOptions{})
		if (err != nil) != (tt.addr == "") {
			t.Errorf("%s: %v", tt.target, err)
		}
		if err != nil {
			continue
		}
		r.ResolveNow(resolver.ResolveNowOptions{})
		r.Close()
		if len(c.got) != 1 || len(c.got[0].Addresses) != 1 || len(c.got[0].Endpoints) != 1 {
			t.Errorf("%s: states %v", tt.target, c.got)
			continue
		}
		a := c.got[0].Addresses[0]
		network, ok := networktype.Get(a)
		if a.Addr != tt.addr || network != "unix" || !ok {
			t.Errorf("%s: address %v, network %q", tt.target, a, network)
		}
	}
}

func TestNoNetwork(t *testing.T) {
	if network, ok := networktype.Get(resolver.Address{}); ok || network != "" {
		t.Errorf("network %q, %t", network, ok)
	}
}
