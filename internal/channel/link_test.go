// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"testing"
	"time"

	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/keepalive"
)

// TestPingLess: what many servers say of connections that were made with one keepalive time doubles that once.
func TestPingLess(t *testing.T) {
	cfg := &transport.ClientConfig{Keepalive: keepalive.ClientParameters{Time: 10 * time.Second}}
	cfg.Prepare()
	var ch Channel
	ch.transport.Store(cfg)
	for _, step := range []struct {
		pinged, want time.Duration
		servers      int
	}{
		{10 * time.Second, 20 * time.Second, 20},
		{20 * time.Second, 40 * time.Second, 20},
		{10 * time.Second, 40 * time.Second, 1},
		{time.Second, 40 * time.Second, 1},
		{0, 40 * time.Second, 1},
	} {
		for range step.servers {
			ch.pingLess(step.pinged)
		}
		if got := ch.transport.Load().Keepalive.Time; got != step.want {
			t.Errorf("after %d of %v: %v, want %v", step.servers, step.pinged, got, step.want)
		}
	}
}

// TestGoAwaysTold: a server that sends any number of GOAWAYs does not fill the log.
func TestGoAwaysTold(t *testing.T) {
	var l Link
	told := 0
	for range 1000 {
		if l.mayTell() {
			told++
		}
	}
	if told != maxTold {
		t.Errorf("the log is told of %d GOAWAYs, want %d", told, maxTold)
	}
}
