// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"testing"
	"time"

	"google.golang.org/grpc/internal/transport/h2/protocol"
)

// TestBrokenRuleWithoutDeadlines: a peer that has broken a rule, and keeps its end open, is hung up on also where
// deadlines have no effect, as with channels of SSH.
func TestBrokenRuleWithoutDeadlines(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Server, peerConfig{})
		p.self.in.set(func() { p.self.in.deaf = true })
		p.send(window(0, 0))
		p.want("GOAWAY 0 PROTOCOL_ERROR", "EOF")
		time.Sleep(lastFlush)
		p.settle()
		if _, err := p.nc.Write([]byte("x")); err == nil {
			t.Error("the connection stays open")
		}
	})
}
