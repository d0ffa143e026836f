// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"crypto/tls"
	"io"
	"net"
	"net/url"
	"testing"

	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/readyreader"
)

// shakeHands does so over sockets.
func shakeHands(t *testing.T, client, server TransportCredentials) (c, s result, rawServer net.Conn) {
	t.Helper()
	rawClient, rawServer := socketPair(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.conn, s.info, s.err = server.ServerHandshake(rawServer)
	}()
	c.conn, c.info, c.err = client.ClientHandshake(t.Context(), "server.test:443", rawClient)
	<-done
	for _, r := range []result{c, s} {
		if r.err != nil {
			t.Fatalf("client %v, server %v", c.err, s.err)
		}
		t.Cleanup(func() { r.conn.Close() })
	}
	return c, s, rawServer
}

// Over a socket a TLS connection can be waited for without a buffer, and is to the
// user what it is over anything else.
func TestTLSOverSocket(t *testing.T) {
	spiffe := &url.URL{Scheme: "spiffe", Host: "domain", Path: "/workload"}
	id, user := newIdentity(t, nil, "server.test"), newIdentity(t, []*url.URL{spiffe})
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		server := NewTLS(&tls.Config{
			Certificates: []tls.Certificate{id.cert},
			ClientAuth:   tls.RequireAndVerifyClientCert,
			ClientCAs:    user.roots,
			MaxVersion:   version,
		})
		client := NewTLS(&tls.Config{RootCAs: id.roots, Certificates: []tls.Certificate{user.cert}})
		c, s, _ := shakeHands(t, client, server)
		for _, r := range []result{c, s} {
			state := r.info.(TLSInfo).State
			if state.Version != version || state.NegotiatedProtocol != "h2" || len(state.PeerCertificates) != 1 || state.ServerName != "server.test" {
				t.Errorf("%+v", state)
			}
			if _, ok := r.conn.(readyreader.Layer); !ok && envconfig.HTTPFramerReadBufferPooling {
				if readyreader.NewSocket(r.conn).Can().Has(readyreader.OnSocket) {
					t.Errorf("%T holds buffers", r.conn)
				}
			}
		}
		if got := s.info.(TLSInfo).SPIFFEID; got == nil || *got != *spiffe {
			t.Errorf("SPIFFE ID %v", got)
		}
		if _, err := c.conn.Write([]byte("ping")); err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 4)
		if _, err := io.ReadFull(s.conn, p); err != nil || string(p) != "ping" {
			t.Errorf("%q, %v", p, err)
		}
		c.conn.Close()
		if _, err := s.conn.Read(p); err != io.EOF {
			t.Errorf("after the other's Close: %v", err)
		}
	}
}

// Callbacks see the socket itself.
func TestCallbacksSeeSocket(t *testing.T) {
	id := newIdentity(t, nil, "server.test")
	var seen []net.Conn
	perClient := &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		seen = append(seen, hello.Conn)
		return &id.cert, nil
	}}
	server := NewTLS(&tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		seen = append(seen, hello.Conn)
		return perClient, nil
	}})
	_, _, raw := shakeHands(t, NewClientTLSFromCert(id.roots, ""), server)
	if len(seen) != 2 || seen[0] != raw || seen[1] != raw {
		t.Errorf("callbacks saw %T", seen)
	}
}

// A session is resumed over the same credentials.
func TestResumption(t *testing.T) {
	id := newIdentity(t, nil, "server.test")
	client := NewTLS(&tls.Config{RootCAs: id.roots, ClientSessionCache: tls.NewLRUClientSessionCache(1)})
	server := NewServerTLSFromCert(&id.cert)
	for i := range 2 {
		c, s, _ := shakeHands(t, client, server)
		if got := c.info.(TLSInfo).State.DidResume; got != (i > 0) {
			t.Errorf("connection %d: resumed %t", i, got)
		}
		if _, err := s.conn.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := c.conn.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
}
