// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/credentials/tls/certprovider"
	xdscreds "google.golang.org/grpc/credentials/xds"
	xdsresolver "google.golang.org/grpc/internal/xds/resolver"
	"google.golang.org/grpc/interop/testcerts"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// withTLS secures connections to a cluster; the server's certificate is to have a name.
func withTLS(c *clusterv3.Cluster, san string) *clusterv3.Cluster {
	files := &tlsv3.CertificateProviderPluginInstance{InstanceName: "files"}
	m := &tlsv3.UpstreamTlsContext{CommonTlsContext: &tlsv3.CommonTlsContext{
		TlsCertificateProviderInstance: files,
		ValidationContextType: &tlsv3.CommonTlsContext_ValidationContext{ValidationContext: &tlsv3.CertificateValidationContext{
			CaCertificateProviderInstance: files,
			//nolint:staticcheck // the field that A29 names
			MatchSubjectAltNames: []*matcherv3.StringMatcher{{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: san}}},
		}},
	}}
	c.TransportSocket = &corev3.TransportSocket{Name: "envoy.transport_sockets.tls", ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: mustAny(m)}}
	return c
}

// TestA29Mesh: an xDS client and an xDS server, each secured by what the control plane says.
func TestA29Mesh(t *testing.T) {
	files, err := testcerts.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	fallback := insecure.NewCredentials()
	clientCreds, err := xdscreds.NewClientCredentials(xdscreds.ClientOptions{FallbackCreds: fallback})
	if err != nil {
		t.Fatal(err)
	}
	serverCreds, err := xdscreds.NewServerCredentials(xdscreds.ServerOptions{FallbackCreds: fallback})
	if err != nil {
		t.Fatal(err)
	}
	p := newPlane(t)
	pool := serverPool(t, p, fmt.Sprintf(`{"files":{"plugin_name":"file_watcher","config":{"ca_certificate_file":%q,"certificate_file":%q,"private_key_file":%q}}}`, files.CA, files.Cert, files.Key))
	s := serveXDS(t, pool, "127.0.0.1", grpc.Creds(serverCreds))
	target := "xds:///service.test"
	cc := channelTo(t, target, xdsresolver.Builder{Pool: pool}, grpc.WithTransportCredentials(clientCreds))
	b := &backend{port: s.port}
	for _, tt := range []struct {
		name   string
		c      *clusterv3.Cluster
		secure bool
		want   codes.Code
		auth   string
	}{
		{"plaintext", cluster("c"), false, codes.OK, "insecure"},
		{"TLS", withTLS(cluster("c"), testcerts.ServerName), true, codes.OK, "tls"},
		{"other name", withTLS(cluster("c"), "other"), true, codes.Unavailable, ""},
		{"server in plaintext", withTLS(cluster("c"), testcerts.ServerName), false, codes.Unavailable, ""},
	} {
		// Connections stay when the cluster's security changes; a Listener that changes, too, has
		// them made anew. Either may be heard of first, so it changes more than once.
		n := 0
		until(t, func() bool {
			n++
			chain := inline(takes(fmt.Sprint(tt.name, n), ""))
			if tt.secure {
				chain = secured(chain, false)
			}
			p.set(s.listener(chain), listener("service.test", "r"), routes(to("c")), tt.c, assignment("c", local("z", 0, 1, b)))
			for end := time.Now().Add(time.Second); time.Now().Before(end); {
				if status.Code(empty(t, cc)) == tt.want {
					return true
				}
				cc.ResetConnectBackoff()
			}
			return false
		})
		if tt.want != codes.OK {
			continue
		}
		until(t, func() bool {
			var from peer.Peer
			err := empty(t, cc, grpc.Peer(&from))
			return err == nil && from.AuthInfo.AuthType() == tt.auth
		})
		if tt.auth == "tls" {
			var from peer.Peer
			if err := empty(t, cc, grpc.Peer(&from)); err != nil || len(from.AuthInfo.(credentials.TLSInfo).State.PeerCertificates) == 0 {
				t.Error(err)
			}
		}
	}
}

// patientProvider is a certificate provider that never has any material, and its builder.
type patientProvider struct{ entered, left, closed chan struct{} }

func (p *patientProvider) Name() string { return "patient_of_test" }
func (p *patientProvider) ParseConfig(any) (*certprovider.BuildableConfig, error) {
	return certprovider.NewBuildableConfig(p.Name(), nil, func(certprovider.BuildOptions) certprovider.Provider { return p }), nil
}

func (p *patientProvider) KeyMaterial(ctx context.Context) (*certprovider.KeyMaterial, error) {
	p.entered <- struct{}{}
	<-ctx.Done()
	close(p.left)
	return nil, ctx.Err()
}

func (p *patientProvider) Close() { close(p.closed) }

// TestStopEndsHandshake: a handshake that waits for certificates ends as soon as the server closes its connection.
func TestStopEndsHandshake(t *testing.T) {
	provider := &patientProvider{entered: make(chan struct{}), left: make(chan struct{}), closed: make(chan struct{})}
	certprovider.Register(provider)
	creds, err := xdscreds.NewServerCredentials(xdscreds.ServerOptions{FallbackCreds: insecure.NewCredentials()})
	if err != nil {
		t.Fatal(err)
	}
	p := newPlane(t)
	s := serveXDS(t, serverPool(t, p, `{"files":{"plugin_name":"patient_of_test"}}`), "127.0.0.1", grpc.Creds(creds), grpc.ConnectionTimeout(time.Hour))
	p.set(s.listener(secured(inline(takes("", "")), false)))
	s.wantMode(connectivity.ServingModeServing)
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	<-provider.entered
	s.gs.Stop()
	<-provider.left
	<-provider.closed
}
