// SPDX-License-Identifier: Apache-2.0

package passthrough_test

import (
	"context"
	"net"
	"net/url"
	"testing"

	"google.golang.org/grpc/resolver"
	_ "google.golang.org/grpc/resolver/passthrough"
)

type channel struct {
	resolver.ClientConn
	got []string
}

func (c *channel) UpdateState(s resolver.State) error {
	c.got = append(c.got, s.Addresses[0].Addr)
	return nil
}

func TestBuild(t *testing.T) {
	dialer := func(context.Context, string) (net.Conn, error) { return nil, net.ErrClosed }
	for _, tt := range []struct {
		endpoint string
		opts     resolver.BuildOptions
		ok       bool
	}{
		{"host:1", resolver.BuildOptions{}, true},
		{"any thing", resolver.BuildOptions{}, true},
		{"", resolver.BuildOptions{}, false},
		{"", resolver.BuildOptions{Dialer: dialer}, true},
	} {
		c := &channel{}
		target := resolver.Target{URL: url.URL{Scheme: "passthrough", Path: "/" + tt.endpoint}}
		r, err := resolver.Get("passthrough").Build(target, c, tt.opts)
		if (err == nil) != tt.ok {
			t.Errorf("%q: %v", tt.endpoint, err)
		}
		if err != nil {
			continue
		}
		r.ResolveNow(resolver.ResolveNowOptions{})
		r.Close()
		if len(c.got) != 1 || c.got[0] != tt.endpoint {
			t.Errorf("%q: got %q", tt.endpoint, c.got)
		}
	}
}
