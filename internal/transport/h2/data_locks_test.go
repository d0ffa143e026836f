// SPDX-License-Identifier: Apache-2.0

//go:build race

package h2

import (
	"testing"

	"google.golang.org/grpc/internal/transport/h2/protocol"
)

// A DATA frame that has arrived whole and ends its stream takes the lock once: none where it came with
// the field block that opened the stream.
func TestLocksOfLastData(t *testing.T) {
	const streams = 20
	for _, tt := range []struct {
		name     string
		together bool
		most     int
	}{
		{"alone", false, streams},
		{"with its block", true, 2 * streams},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPeer(t, protocol.Server, peerConfig{Config: protocol.Config{StaticWindow: true}})
				var blocks, bodies, all []byte
				for i := range uint32(streams) {
					block, body := p.request(1+2*i, false), data(1+2*i, "0123456789", true)
					blocks, bodies, all = append(blocks, block...), append(bodies, body...), join(all, block, body)
				}
				if !tt.together {
					p.send(blocks)
				}
				before := p.conn.Locked()
				if tt.together {
					p.send(all)
				} else {
					p.send(bodies)
				}
				// One more is for the end of the batch, and one for Locked.
				if n := p.conn.Locked() - before; n > tt.most+2 {
					t.Errorf("the lock was taken %d times for %d streams, more than %d", n, streams, tt.most+2)
				}
				for _, s := range p.role.accepted {
					if s.received() != "0123456789" || !s.ended {
						t.Errorf("stream %d received %q, ended: %t", s.ID(), s.received(), s.ended)
					}
				}
			})
		})
	}
}
