// SPDX-License-Identifier: Apache-2.0

package pemfile

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
)

// TestServerRenewsItsCertificate replaces the files of a server that runs: connections made
// after that see the new certificate, and the one made before goes on.
func TestServerRenewsItsCertificate(t *testing.T) {
	now, later := files(t), files(t)
	p, err := NewProvider(Options{CertFile: now.Cert, KeyFile: now.Key, RootFile: now.CA, RefreshDuration: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			km, err := p.KeyMaterial(hello.Context())
			if err != nil {
				return nil, err
			}
			return &km.Certs[0], nil
		},
	})))
	healthpb.RegisterHealthServer(srv, health.NewServer())
	go srv.Serve(l)
	defer srv.Stop()

	client := func() *grpc.ClientConn {
		cc, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
			InsecureSkipVerify: true, // the provider says whom to trust, and that changes
			VerifyConnection: func(s tls.ConnectionState) error {
				_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: keyMaterial(t, p).Roots})
				return err
			},
		})))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cc.Close() })
		return cc
	}
	serial := func(cc *grpc.ClientConn) string {
		var peer peer.Peer
		if _, err := healthpb.NewHealthClient(cc).Check(t.Context(), &healthpb.HealthCheckRequest{}, grpc.Peer(&peer), grpc.WaitForReady(true)); err != nil {
			t.Fatal(err)
		}
		return string(peer.AuthInfo.(credentials.TLSInfo).State.PeerCertificates[0].Raw)
	}
	old := client()
	first := serial(old)
	replace(t, now.Cert, later.Cert)
	replace(t, now.Key, later.Key)
	replace(t, now.CA, later.CA)
	for end := time.Now().Add(30 * time.Second); serial(client()) == first; {
		if time.Now().After(end) {
			t.Fatal("still the old certificate")
		}
	}
	if serial(old) != first {
		t.Error("the old connection did not go on")
	}
}
