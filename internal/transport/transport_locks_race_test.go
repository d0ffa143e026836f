// SPDX-License-Identifier: Apache-2.0

//go:build race

package transport

import (
	"context"
	"testing"
)

// A small call takes the lock of its connection three times on each side: a client to send all of it, to
// take its header and its message, and to take its end; a server to look whether it takes another call, to
// take it, with its message, and to send the reply. The packets that carry a reply may be read in two
// parts, and a PING or a window may come along: so a tenth more is allowed.
func TestLocksOfUnaryCalls(t *testing.T) {
	needsParking(t) // else the reader charges what it took at once
	s := startServer(t, "tcp", ServerConfig{}, echoUnary)
	c, _ := s.dial(nil)
	msg := make([]byte, 128)
	call := func() {
		if _, err := unary(context.Background(), c, msg); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		call()
	}
	const calls = 500
	locked := func() (client, server int) {
		s.each(func(c *Server) { server += c.conn.Locked() })
		return c.conn.Locked(), server
	}
	client, server := locked()
	for range calls {
		call()
	}
	clientAfter, serverAfter := locked()
	for side, n := range map[string]int{"client": clientAfter - client, "server": serverAfter - server} {
		perCall := float64(n) / calls
		t.Logf("%s: %.2f", side, perCall)
		if perCall > 3.3 {
			t.Errorf("the %s takes the lock %.2f times a call, more than 3.3", side, perCall)
		}
	}
}
