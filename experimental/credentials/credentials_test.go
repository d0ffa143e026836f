// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	xcredentials "google.golang.org/grpc/experimental/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/interop/testcerts"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// noALPN hides the "h2" of credentials from the peer.
func noALPN(t *testing.T, f testcerts.Files) *tls.Config {
	t.Helper()
	cert, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		t.Fatal(err)
	}
	pem, err := os.ReadFile(f.CA)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	return &tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: roots, ServerName: testcerts.ServerName}
}

// TestServerWithoutALPN reaches a server behind something that ends TLS and knows no ALPN.
func TestServerWithoutALPN(t *testing.T) {
	files, err := testcerts.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer() // sees plain HTTP/2: TLS is the listener's
	healthpb.RegisterHealthServer(srv, health.NewServer())
	go srv.Serve(tls.NewListener(l, noALPN(t, files)))
	defer srv.Stop()

	lenient, err := xcredentials.NewClientTLSFromFileWithALPNDisabled(files.CA, "")
	if err != nil {
		t.Fatal(err)
	}
	strict, err := credentials.NewClientTLSFromFile(files.CA, "")
	if err != nil {
		t.Fatal(err)
	}
	for want, creds := range map[codes.Code]credentials.TransportCredentials{codes.OK: lenient.Clone(), codes.Unavailable: strict} {
		cc, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(creds))
		if err != nil {
			t.Fatal(err)
		}
		defer cc.Close()
		if _, err := healthpb.NewHealthClient(cc).Check(t.Context(), &healthpb.HealthCheckRequest{}); status.Code(err) != want {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

func TestClientWithoutALPN(t *testing.T) {
	files, err := testcerts.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	creds, err := xcredentials.NewServerTLSFromFileWithALPNDisabled(files.Cert, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	for _, protos := range [][]string{nil, {"h2"}} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		done := make(chan error, 1)
		go func() {
			config := noALPN(t, files)
			config.NextProtos = protos
			c, err := tls.Dial("tcp", l.Addr().String(), config)
			if err == nil {
				err = c.Close()
			}
			done <- err
		}()
		raw, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		conn, info, err := creds.ServerHandshake(raw)
		if err != nil {
			t.Fatalf("%q: %v", protos, err)
		}
		conn.Close()
		if got := info.AuthType(); got != "tls" {
			t.Errorf("%q: %s", protos, got)
		}
		if err := <-done; err != nil {
			t.Errorf("%q: client: %v", protos, err)
		}
	}
}

func TestFiles(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{empty, empty + "-gone"} {
		_, err1 := xcredentials.NewClientTLSFromFileWithALPNDisabled(path, "")
		_, err2 := xcredentials.NewServerTLSFromFileWithALPNDisabled(path, path)
		if err1 == nil || err2 == nil {
			t.Errorf("%s: %v, %v", path, err1, err2)
		}
	}
}
