// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/protocol"
)

// TestEndSilentDrain: only a peer that has said nothing is given no time to notice a drain, whether or not the
// connection has keepalive.
func TestEndSilentDrain(t *testing.T) {
	for _, interval := range []time.Duration{0, time.Hour} {
		for _, silent := range []bool{false, true} {
			t.Run(fmt.Sprintf("keepalive %v, silent %v", interval, silent), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					config := protocol.Config{Keepalive: Keepalive{Interval: interval, Timeout: time.Second, WithoutStreams: true}}
					p := newPeer(t, protocol.Server, peerConfig{Config: config, raw: silent})
					if got := p.conn.Silent(); got != silent {
						t.Errorf("silent: %v", got)
					}
					p.conn.Drain(frame.NoError, "")
					p.conn.EndSilentDrain()
					if silent {
						p.want("SETTINGS", "GOAWAY 2147483647 NO_ERROR", "PING drain", "GOAWAY 0 NO_ERROR", "EOF")
						return
					}
					p.want("GOAWAY 2147483647 NO_ERROR", "PING drain")
					p.send(p.request(1, true)) // it was on its way
					p.wantTold("opened 1 :method=POST :path=/x end")
				})
			})
		}
	}
}

// TestDrainAfterBrokenRule: a drain that begins while the GOAWAY about a broken rule waits to be written does not
// name a higher last stream, which RFC 9113 section 6.8 forbids.
func TestDrainAfterBrokenRule(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Server, peerConfig{})
		p.self.out.set(func() { p.self.out.limit = 0 })
		p.send(data(0, "x", false))
		p.conn.Drain(frame.NoError, "bye")
		if !p.conn.Draining() {
			t.Error("it does not drain")
		}
		p.self.out.set(func() { p.self.out.limit = 1 << 10 })
		p.settle()
		p.want("GOAWAY 0 PROTOCOL_ERROR", "EOF")
	})
}

// TestDrainWhoseCloseWriteWaits: the connection ends in time also where the end of our direction waits, as it may with
// a program's connection.
func TestDrainWhoseCloseWriteWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Server, peerConfig{})
		p.self.stuck = make(chan struct{})
		go p.conn.Retire()
		time.Sleep((partingPatience + 2) * lastFlush)
		p.wantTold("closed: " + protocol.ErrDrained.Error())
		close(p.self.stuck)
	})
}
