// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"crypto/tls"
	"net/http"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/peer"
)

// tlsEcho answers with the security of the connection.
func tlsEcho(t *testing.T) *echo {
	e := newEcho()
	e.unary = func(ctx context.Context, m *text) (*text, error) {
		p, _ := peer.FromContext(ctx)
		if _, ok := p.AuthInfo.(credentials.TLSInfo); !ok {
			t.Errorf("AuthInfo = %v", p.AuthInfo)
		}
		return m, nil
	}
	return e
}

func TestServerTLS(t *testing.T) {
	cert, pool := testutils.Certificate(t)
	ts := serve(t, tlsEcho(t), Creds(credentials.NewServerTLSFromCert(&cert)))
	c := connectSecure(t, ts, credentials.NewTLS(&tls.Config{RootCAs: pool}))
	c.unary(context.Background(), "secret").want(t, "secret")
	ts.GracefulStop()
	within(t, c.events.closed, "the connection's end")
}

func TestServeHTTPTLS(t *testing.T) {
	cert, pool := testutils.Certificate(t)
	s := NewServer()
	s.RegisterService(&echoDesc, tlsEcho(t))
	lis := listen(t)
	web := &http.Server{
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/plain" { // gRPC and others share a port
				w.WriteHeader(http.StatusNoContent)
				return
			}
			s.ServeHTTP(w, r)
		}),
	}
	served := make(chan error, 1)
	go func() { served <- web.ServeTLS(lis, "", "") }()
	t.Cleanup(func() { _ = web.Close(); <-served; s.Stop() })
	c := connectSecure(t, &testServer{Server: s, addr: lis.Addr().String()}, credentials.NewTLS(&tls.Config{RootCAs: pool}))
	c.unary(context.Background(), "secret").want(t, "secret")
	r := c.open(context.Background(), transport.Call{Method: "/plain"})
	r.closeSend()
	r.wantEnd(codes.Unknown, "")
}
