// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
	grpclbstate "google.golang.org/grpc/balancer/grpclb/state"
	"google.golang.org/grpc/resolver"
)

// srvNames is a DNS server with SRV records.
type srvNames struct {
	names
	srv    []*net.SRV
	srvErr error
	asked  string
}

func (n *srvNames) LookupSRV(_ context.Context, service, proto, name string) (string, []*net.SRV, error) {
	n.asked = "_" + service + "._" + proto + "." + name
	return "", n.srv, n.srvErr
}

func TestBalancers(t *testing.T) {
	EnableSRV()
	defer srvEnabled.Store(false)
	balancers := []resolver.Address{{Addr: "10.0.0.1:1234", ServerName: "lb.test"}, {Addr: "[::1]:1234", ServerName: "lb.test"}}
	hosts := map[string][]string{"lb.test.": {"10.0.0.1", "::1"}, "host.test": {"10.0.0.9"}}
	missing := &net.DNSError{Err: "no such host", IsNotFound: true}
	for name, tt := range map[string]struct {
		server    *srvNames
		balancers []resolver.Address
		addresses int
		fails     bool
	}{
		"both":           {&srvNames{names: names{hosts: hosts}, srv: []*net.SRV{{Target: "lb.test.", Port: 1234}}}, balancers, 1, false},
		"no record":      {&srvNames{names: names{hosts: hosts}, srvErr: missing}, nil, 1, false},
		"record broken":  {&srvNames{names: names{hosts: hosts}, srvErr: errors.New("refused")}, nil, 1, false},
		"all broken":     {&srvNames{names: names{hostErr: errors.New("refused")}, srvErr: errors.New("refused")}, nil, 0, true},
		"balancers only": {&srvNames{names: names{hosts: map[string][]string{"lb.test.": hosts["lb.test."]}}, srv: []*net.SRV{{Target: "lb.test.", Port: 1234}}}, balancers, 0, false},
	} {
		q := &query{Builder: NewBuilder(), server: tt.server, host: hostPort{"host.test", "443"}, noConfig: true}
		s, err := q.run(t.Context(), nil)
		if (err != nil) != tt.fails || len(s.Addresses) != tt.addresses || tt.server.asked != "_grpclb._tcp.host.test" {
			t.Errorf("%s: %v, %v, asked %s", name, s, err, tt.server.asked)
		}
		var got []resolver.Address
		if own := grpclbstate.Get(s); own != nil {
			got = own.BalancerAddresses
		}
		if diff := cmp.Diff(tt.balancers, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestNoBalancers: nobody who does not import grpclb pays for its records.
func TestNoBalancers(t *testing.T) {
	server := &srvNames{names: names{hosts: map[string][]string{"host.test": {"10.0.0.9"}}}}
	q := &query{Builder: NewBuilder(), server: server, host: hostPort{"host.test", "443"}, noConfig: true}
	if _, err := q.run(t.Context(), nil); err != nil || server.asked != "" {
		t.Errorf("%v, asked %q", err, server.asked)
	}
}
