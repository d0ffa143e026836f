// SPDX-License-Identifier: Apache-2.0

package transports

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/h2c" //nolint:staticcheck // deprecated, and in use by programs
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/interop"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

// TestServeHTTP has net/http speak HTTP/2 for a server, in plain text and over TLS.
func TestServeHTTP(t *testing.T) {
	for _, h := range []struct {
		name   string
		secure bool
		set    func(*testing.T, *http.Server)
	}{
		{name: "unencrypted HTTP/2", set: func(_ *testing.T, web *http.Server) {
			web.Protocols = new(http.Protocols)
			web.Protocols.SetHTTP1(true)
			web.Protocols.SetUnencryptedHTTP2(true)
		}},
		{name: "h2c", set: func(_ *testing.T, web *http.Server) {
			web.Handler = h2c.NewHandler(web.Handler, &http2.Server{}) //nolint:staticcheck // the same
		}},
		{name: "TLS", secure: true, set: func(*testing.T, *http.Server) {}},
		{name: "TLS of x/net", secure: true, set: func(t *testing.T, web *http.Server) {
			//nolint:staticcheck // the same
			if err := http2.ConfigureServer(web, &http2.Server{}); err != nil {
				t.Error(err)
			}
		}},
	} {
		t.Run(h.name, func(t *testing.T) {
			web := &http.Server{}
			l := link{lis: listen(t)}
			l.dial = dialer(l.lis)
			if h.secure {
				client, server := newTLS(t, "h2")
				l.client, web.TLSConfig = credentials.NewTLS(client), server
			}
			serveHTTP(t, l.lis, web, h.set)
			t.Run("calls", func(t *testing.T) { testCalls(t, l.connect(t)) })
			t.Run("many", func(t *testing.T) { testMany(t, l) })
			t.Run("lost", func(t *testing.T) { testLost(t, l) })
		})
	}
}

func serveHTTP(t *testing.T, lis net.Listener, web *http.Server, set func(*testing.T, *http.Server)) {
	s := grpc.NewServer()
	testpb.RegisterTestServiceServer(s, interop.NewTestServer())
	web.Handler = s
	set(t, web)
	go func() {
		if web.TLSConfig != nil {
			_ = web.ServeTLS(lis, "", "")
			return
		}
		_ = web.Serve(lis)
	}()
	t.Cleanup(func() {
		web.Close()
		s.Stop()
	})
}

// TestHTTPClient has net/http call a server that serves by itself.
func TestHTTPClient(t *testing.T) {
	for _, secure := range []bool{false, true} {
		l := link{lis: listen(t)}
		transport := &http.Transport{Protocols: new(http.Protocols)}
		scheme := "http"
		if secure {
			client, server := newTLS(t, "h2")
			client.NextProtos = nil
			l.server, transport.TLSClientConfig, scheme = credentials.NewTLS(server), client, "https"
			transport.Protocols.SetHTTP2(true)
		} else {
			transport.Protocols.SetUnencryptedHTTP2(true)
		}
		serve(t, l)
		t.Cleanup(transport.CloseIdleConnections)
		for range 10 {
			checkPost(t, transport, scheme+"://"+l.lis.Addr().String())
		}
	}
}

// checkPost makes a call with an empty message, which gets one back.
func checkPost(t *testing.T, transport *http.Transport, server string) {
	t.Helper()
	empty := binary.BigEndian.AppendUint32([]byte{0}, 0)
	req, err := http.NewRequestWithContext(testContext(t), http.MethodPost,
		server+"/grpc.testing.TestService/EmptyCall", bytes.NewReader(empty))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(contentType, "application/grpc")
	req.Header.Set("te", "trailers")
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK || !bytes.Equal(body, empty) || resp.Trailer.Get("grpc-status") != "0" {
		t.Errorf("%s, %q, trailers %v", resp.Status, body, resp.Trailer)
	}
}
