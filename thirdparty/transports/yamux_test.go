// SPDX-License-Identifier: Apache-2.0

package transports

import (
	"context"
	"io"
	"net"
	"testing"

	"github.com/hashicorp/yamux"
)

// TestYamux has connections that are streams of one session.
func TestYamux(t *testing.T) {
	t.Run("from the client", func(t *testing.T) {
		testLink(t, func(t *testing.T) link {
			dialed, accepted := pipe(t)
			client, err := yamux.Client(dialed, quietYamux())
			if err != nil {
				t.Fatal(err)
			}
			server, err := yamux.Server(accepted, quietYamux())
			if err != nil {
				t.Fatal(err)
			}
			return yamuxLink(t, client, server)
		})
	})
	// As a host behind a firewall does, which dials out and serves on the connection.
	t.Run("from the server", func(t *testing.T) {
		testLink(t, func(t *testing.T) link {
			dialed, accepted := pipe(t)
			client, err := yamux.Server(accepted, quietYamux())
			if err != nil {
				t.Fatal(err)
			}
			server, err := yamux.Client(dialed, quietYamux())
			if err != nil {
				t.Fatal(err)
			}
			return yamuxLink(t, client, server)
		})
	})
}

// yamuxLink accepts at a queue, so that the end of a server is not the session's.
func yamuxLink(t *testing.T, client, server *yamux.Session) link {
	t.Cleanup(func() {
		client.Close()
		server.Close()
	})
	q := newQueue(t, server.Addr())
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			q.put(conn)
		}
	}()
	return link{lis: q, dial: func(context.Context) (net.Conn, error) { return client.Open() }}
}

func quietYamux() *yamux.Config {
	c := yamux.DefaultConfig()
	c.LogOutput = io.Discard
	return c
}

// pipe returns the two ends of a connection over the loopback.
func pipe(t *testing.T) (dialed, accepted net.Conn) {
	t.Helper()
	lis := listen(t)
	dialed, err := dialer(lis)(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dialed.Close() })
	if accepted, err = lis.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { accepted.Close() })
	return dialed, accepted
}
