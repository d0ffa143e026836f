// SPDX-License-Identifier: Apache-2.0

package google

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/credsmode"
	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/resolver"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// perRPC sends its own name.
type perRPC struct {
	name   string
	secure bool
}

func (p perRPC) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"who": p.name}, nil
}

func (p perRPC) RequireTransportSecurity() bool { return p.secure }

// info is an AuthInfo of a type.
type info string

func (i info) AuthType() string { return string(i) }

func TestModes(t *testing.T) {
	b := NewDefaultCredentialsWithOptions(DefaultCredentialsOptions{PerRPCCreds: perRPC{name: "rpc"}})
	if got := b.TransportCredentials().Info().SecurityProtocol; got != "tls" {
		t.Errorf("%s at first", got)
	}
	// A bundle's modes don't depend on the one it is in.
	for _, from := range []string{"", credsmode.Balancer, credsmode.BackendFromBalancer} {
		base := b
		if from != "" {
			var err error
			if base, err = b.NewWithMode(from); err != nil {
				t.Fatal(err)
			}
		}
		for _, tt := range []struct {
			mode, protocol string
			tokens         bool
		}{
			{credsmode.Fallback, "tls", true},
			{credsmode.BackendFromBalancer, "alts", true},
			{credsmode.Balancer, "alts", false},
		} {
			got, err := base.NewWithMode(tt.mode)
			if err != nil {
				t.Fatal(err)
			}
			if p := got.TransportCredentials().Info().SecurityProtocol; p != tt.protocol || (got.PerRPCCredentials() != nil) != tt.tokens {
				t.Errorf("%s after %q: %s, %v", tt.mode, from, p, got.PerRPCCredentials())
			}
		}
	}
	if got, err := b.NewWithMode("else"); err == nil || got != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func TestNoDefaultCredentials(t *testing.T) {
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(t.TempDir(), "gone"))
	if b := NewDefaultCredentials(); b.PerRPCCredentials() != nil || b.TransportCredentials() == nil {
		t.Errorf("%+v", b)
	}
}

func TestDual(t *testing.T) {
	with := func(ai credentials.AuthInfo) context.Context {
		return credentials.NewContextWithRequestInfo(t.Context(), credentials.RequestInfo{AuthInfo: ai})
	}
	for _, tt := range []struct {
		creds dualCreds
		info  credentials.AuthInfo
		want  string
	}{
		{dualCreds{perRPC{name: "tls"}, perRPC{name: "alts"}}, info("tls"), "tls"},
		{dualCreds{perRPC{name: "tls"}, perRPC{name: "alts"}}, nil, "tls"},
		{dualCreds{perRPC{name: "tls"}, perRPC{name: "alts"}}, info("alts"), "alts"},
		{dualCreds{nil, perRPC{name: "alts"}}, info("tls"), ""},
	} {
		md, err := tt.creds.GetRequestMetadata(with(tt.info))
		if err != nil || md["who"] != tt.want {
			t.Errorf("%v over %v: %v, %v", tt.creds, tt.info, md, err)
		}
	}
	if md, err := (dualCreds{nil, perRPC{}}).GetRequestMetadata(t.Context()); err == nil {
		t.Errorf("%v without a connection", md)
	}
	for _, tt := range []struct {
		creds dualCreds
		want  bool
	}{
		{dualCreds{perRPC{}, perRPC{}}, false},
		{dualCreds{perRPC{secure: true}, perRPC{}}, true},
		{dualCreds{nil, perRPC{secure: true}}, true},
	} {
		if got := tt.creds.RequireTransportSecurity(); got != tt.want {
			t.Errorf("%v: %v", tt.creds, got)
		}
	}
}

// transport fails each handshake with itself.
type transport struct {
	credentials.TransportCredentials
	name string
}

func (tc *transport) Error() string { return tc.name }

func (tc *transport) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, tc
}

func (tc *transport) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, tc
}

func (tc *transport) OverrideServerName(name string) error {
	tc.name += ":" + name
	return nil
}

func (tc *transport) Clone() credentials.TransportCredentials {
	c := *tc
	return &c
}

func handshake(t *testing.T, tc credentials.TransportCredentials, attrs *attributes.Attributes) string {
	t.Helper()
	ctx := context.WithValue(t.Context(), ctxkey.ClientHandshakeInfo{}, credentials.ClientHandshakeInfo{Attributes: attrs})
	_, _, err := tc.ClientHandshake(ctx, "authority", nil)
	return err.Error()
}

func TestClusters(t *testing.T) {
	creds := newClusterCreds(&transport{name: "tls"}, &transport{name: "alts"})
	for cluster, want := range map[string]string{
		"":                                   "tls",
		"google_cfe_bigtable.googleapis.com": "tls",
		"cloud-internal-istio:cloud_mp_1":    "alts",
		"google_cf":                          "alts",
		"xdstp://traffic-director-c2p.xds.googleapis.com/envoy.config.cluster.v3.Cluster/google_cfe_a": "tls",
		"xdstp://traffic-director-c2p.xds.googleapis.com/envoy.config.cluster.v3.Cluster/else":         "alts",
		"xdstp://elsewhere/envoy.config.cluster.v3.Cluster/google_cfe_a":                               "alts",
		"xdstp://traffic-director-c2p.xds.googleapis.com/google_cfe_a":                                 "alts",
		"xdstp:// %": "alts",
		"http://traffic-director-c2p.xds.googleapis.com/envoy.config.cluster.v3.Cluster/google_cfe_a": "alts",
	} {
		addr := credsmode.SetCluster(resolver.Address{}, cluster)
		if got := handshake(t, creds, addr.Attributes); got != want {
			t.Errorf("%q: %s, want %s", cluster, got, want)
		}
	}
	if got := handshake(t, creds, nil); got != "tls" {
		t.Errorf("%s without attributes", got)
	}
	clone := creds.Clone()
	if err := clone.OverrideServerName("n"); err != nil {
		t.Fatal(err)
	}
	elsewhere := credsmode.SetCluster(resolver.Address{}, "c").Attributes
	if handshake(t, clone, nil) != "tls:n" || handshake(t, clone, elsewhere) != "alts:n" || handshake(t, creds, nil) != "tls" {
		t.Error("a clone is not independent")
	}
	var failed *transport
	if _, _, err := creds.ServerHandshake(nil); !errors.As(err, &failed) || failed.name != "tls" {
		t.Error(err)
	}
}
