// SPDX-License-Identifier: Apache-2.0

package footprint_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental/footprint"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/internal/transport/park"
)

// limited is a wrapper as netutil.LimitListener makes them.
type limited struct {
	net.Conn
	close func()
}

func newLimited(c net.Conn, open *atomic.Int64) *limited {
	return &limited{c, sync.OnceFunc(func() { open.Add(-1) })}
}

func (l *limited) Close() error {
	l.close()
	return l.Conn.Close()
}

// outer is one more around it.
type outer struct{ *limited }

// wrappers are the kinds of wrappers whose connections park like plain ones. open counts
// those that are not closed.
var wrappers = []struct {
	name string
	wrap func(c net.Conn, open *atomic.Int64) net.Conn
}{
	{"embedding", func(c net.Conn, open *atomic.Int64) net.Conn { return newLimited(c, open) }},
	{"embedding twice", func(c net.Conn, open *atomic.Int64) net.Conn { return outer{newLimited(c, open)} }},
}

// wrapping is a listener whose connections are wrapped.
type wrapping struct {
	net.Listener
	wrap func(net.Conn) net.Conn
}

func (w wrapping) Accept() (net.Conn, error) {
	c, err := w.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return w.wrap(c), nil
}

// security returns credentials for both sides of a connection.
func security(t *testing.T) (server, client credentials.TransportCredentials) {
	t.Helper()
	cert, roots := certificate(t)
	server = credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{cert}})
	client = credentials.NewTLS(&tls.Config{RootCAs: roots, ServerName: "test.server"})
	return server, client
}

func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"test.server"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

// place is a server and how to reach it.
type place struct {
	server, client credentials.TransportCredentials
	wrapServer     func(net.Conn) net.Conn
	wrapClient     func(net.Conn) net.Conn
	network        string // "tcp" if empty
}

// run serves and connects n channels.
func (p place) run(t *testing.T, n int) []healthpb.HealthClient {
	t.Helper()
	network, addr := "tcp", "127.0.0.1:0"
	if p.network == "unix" {
		network, addr = "unix", t.TempDir()+"/s"
	}
	lis, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.Creds(p.server))
	healthpb.RegisterHealthServer(s, health.NewServer())
	done := make(chan struct{})
	go func() { defer close(done); s.Serve(&wrapping{lis, p.wrapServer}) }()
	t.Cleanup(func() { s.Stop(); <-done })
	var clients []healthpb.HealthClient
	for range n {
		cc, err := grpc.NewClient("passthrough:///test.server", grpc.WithTransportCredentials(p.client),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
				c, err := new(net.Dialer).DialContext(ctx, network, lis.Addr().String())
				if err != nil {
					return nil, err
				}
				return p.wrapClient(c), nil
			}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cc.Close() })
		clients = append(clients, healthpb.NewHealthClient(cc))
	}
	return clients
}

func check(t *testing.T, clients []healthpb.HealthClient) {
	t.Helper()
	for _, c := range clients {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		if _, err := c.Check(ctx, &healthpb.HealthCheckRequest{}); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
}

// Connections that servers and dialers wrap park like others, with TLS and without, wake
// again, and are closed by the wrapper's Close.
func TestWrappedConnectionsPark(t *testing.T) {
	if !park.Supported() {
		t.Skip("no connection parks here")
	}
	server, client := security(t)
	const n = 4
	for _, w := range wrappers {
		for _, secure := range []bool{false, true} {
			name := w.name
			p := place{server: insecure.NewCredentials(), client: insecure.NewCredentials()}
			if secure {
				name += ", TLS"
				p.server, p.client = server, client
			}
			var open atomic.Int64
			p.wrapServer = func(c net.Conn) net.Conn { open.Add(1); return w.wrap(c, &open) }
			p.wrapClient = p.wrapServer
			t.Run(name, func(t *testing.T) {
				clients := p.run(t, n)
				for range 3 {
					check(t, clients)
					waitFor(t, "all to park", func() bool { return footprint.Read().Parked == 2*n })
					if got := footprint.Read(); got.BuffersLent != 0 {
						t.Errorf("idle: %+v", got)
					}
				}
			})
			waitFor(t, "the wrappers to be closed", func() bool { return open.Load() == 0 })
		}
	}
}
