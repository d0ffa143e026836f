// SPDX-License-Identifier: Apache-2.0

package xds

import (
	"context"
	"errors"
	"net"
	"testing"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/xds/handshake"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/resolver"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestNoFallback(t *testing.T) {
	if _, err := NewClientCredentials(ClientOptions{}); err == nil {
		t.Error("a client without fallback credentials")
	}
	if _, err := NewServerCredentials(ServerOptions{}); err == nil {
		t.Error("a server without fallback credentials")
	}
}

func both(t *testing.T) (client, server credentials.TransportCredentials) {
	t.Helper()
	client, err := NewClientCredentials(ClientOptions{FallbackCreds: insecure.NewCredentials()})
	if err != nil {
		t.Fatal(err)
	}
	server, err = NewServerCredentials(ServerOptions{FallbackCreds: insecure.NewCredentials()})
	if err != nil {
		t.Fatal(err)
	}
	return client, server
}

func TestOneSideOnly(t *testing.T) {
	client, server := both(t)
	if _, _, err := client.ServerHandshake(nil); err == nil {
		t.Error("a client's credentials serve")
	}
	if _, _, err := server.ClientHandshake(t.Context(), "", nil); err == nil {
		t.Error("a server's credentials dial")
	}
	for _, c := range []credentials.TransportCredentials{client, server} {
		if got := c.Clone().Info().SecurityProtocol; got != "tls" {
			t.Errorf("protocol %q", got)
		}
	}
}

// ofAddress is the context of a handshake with an address.
func ofAddress(t *testing.T, attrs *attributes.Attributes) context.Context {
	return context.WithValue(t.Context(), ctxkey.ClientHandshakeInfo{}, credentials.ClientHandshakeInfo{Attributes: attrs})
}

func TestA29ClientFallback(t *testing.T) {
	client, _ := both(t)
	unsecured := &handshake.Client{}
	for name, attrs := range map[string]*attributes.Attributes{
		"no xDS":      nil,
		"no security": handshake.SetAddress(resolver.Address{}, unsecured, "").Attributes,
	} {
		raw, peer := net.Pipe()
		conn, info, err := client.Clone().ClientHandshake(ofAddress(t, attrs), "x", raw)
		if err != nil || conn != raw || info.AuthType() != "insecure" {
			t.Errorf("%s: %v, %v, %v", name, conn, info, err)
		}
		raw.Close()
		peer.Close()
	}
}

// TestA29NoFallbackOnError: "the fallback credentials is *not* used in case of errors".
func TestA29NoFallbackOnError(t *testing.T) {
	client, server := both(t)
	closed := &handshake.Client{}
	if err := closed.Set(&resource.ClientTLS{}, nil); err != nil { // the system's roots
		t.Fatal(err)
	}
	closed.Close()
	impossible := &handshake.Client{}
	if err := impossible.Set(&resource.ClientTLS{Roots: resource.CertProvider{Instance: "none"}}, nil); err == nil {
		t.Fatal("a provider that does not exist is built")
	}
	for name, c := range map[string]*handshake.Client{"closed": closed, "no provider": impossible} {
		raw, peer := net.Pipe()
		ctx := ofAddress(t, handshake.SetAddress(resolver.Address{}, c, "").Attributes)
		if _, _, err := client.ClientHandshake(ctx, "x", raw); err == nil {
			t.Errorf("%s: the client falls back", name)
		}
		raw.Close()
		peer.Close()
	}
	raw, peer2 := net.Pipe()
	defer peer2.Close()
	broken := handshake.NewServer(&resource.ServerTLS{Identity: resource.CertProvider{Instance: "none"}}, nil)
	if _, _, err := server.ServerHandshake(accepted{raw, broken}); err == nil {
		t.Error("the server falls back")
	}
}

// accepted is a listener's connection.
type accepted struct {
	net.Conn
	chain *handshake.Server
}

func (a accepted) XDSHandshake() (context.Context, *handshake.Server, net.Conn) {
	return context.Background(), a.chain, a.Conn
}

var errFallback = errors.New("fallback")

type failing struct {
	credentials.TransportCredentials
}

func (failing) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errFallback
}

func TestA29ServerFallback(t *testing.T) {
	_, server := both(t)
	raw, peer := net.Pipe()
	defer peer.Close()
	for name, conn := range map[string]net.Conn{"no xDS": raw, "no security": accepted{Conn: raw}} {
		got, info, err := server.Clone().ServerHandshake(conn)
		if err != nil || got != raw || info.AuthType() != "insecure" {
			t.Errorf("%s: %v, %v, %v", name, got, info, err)
		}
	}
	c, err := NewServerCredentials(ServerOptions{FallbackCreds: failing{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.ServerHandshake(raw); err != errFallback {
		t.Error(err)
	}
}
