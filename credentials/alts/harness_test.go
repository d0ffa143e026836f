// SPDX-License-Identifier: Apache-2.0

package alts

import (
	"net"
	"testing"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/alts/internal/altstest"
	"google.golang.org/grpc/credentials/alts/internal/handshaker"
	"google.golang.org/grpc/credentials/alts/internal/handshaker/service"
)

// startService runs a handshaker service for the test and returns its address.
func startService(t testing.TB, s *altstest.Service) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stop := altstest.Serve(lis, s)
	t.Cleanup(func() {
		service.CloseIdle()
		stop()
	})
	return lis.Addr().String()
}

// onCloud makes credentials believe that they are on Google Cloud.
func onCloud(c credentials.TransportCredentials, slots int) *creds {
	own := c.(*creds)
	own.env = &environment{
		trusted: true, maxRecord: 1 << 20,
		clientSlots: handshaker.NewSlots(slots), serverSlots: handshaker.NewSlots(slots),
	}
	return own
}

func clientCreds(addr string, accounts ...string) *creds {
	return onCloud(NewClientCreds(&ClientOptions{HandshakerServiceAddress: addr, TargetServiceAccounts: accounts}), 100)
}

func serverCreds(addr string) *creds {
	return onCloud(NewServerCreds(&ServerOptions{HandshakerServiceAddress: addr}), 100)
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lis.Close() })
	return lis
}

// tcpPair returns the ends of a connection.
func tcpPair(t testing.TB) (client, server net.Conn) {
	t.Helper()
	lis := listen(t)
	client, err := net.Dial("tcp", lis.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err = lis.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

// outcome is what a handshake returns.
type outcome struct {
	conn net.Conn
	info credentials.AuthInfo
	err  error
}

// shake runs both sides of a handshake.
func shake(t testing.TB, c, s credentials.TransportCredentials) (client, server outcome) {
	t.Helper()
	rawClient, rawServer := tcpPair(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.conn, server.info, server.err = s.ServerHandshake(rawServer)
	}()
	client.conn, client.info, client.err = c.ClientHandshake(t.Context(), "the.authority", rawClient)
	<-done
	for _, o := range []outcome{client, server} {
		if o.conn != nil {
			t.Cleanup(func() { o.conn.Close() })
		}
	}
	return client, server
}
