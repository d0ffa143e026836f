// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"google.golang.org/grpc/internal/envconfig"
	imem "google.golang.org/grpc/internal/mem"
	"google.golang.org/grpc/internal/park"
)

// waitFor looks until cond holds.
func waitFor(t testing.TB, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(20 * time.Second)
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("still waiting for " + what)
		}
	}
}

// TestIdleHoldsNothing is what this module is for: connections that have
// nothing to read hold no buffer and no goroutine, and answer again at once.
func TestIdleHoldsNothing(t *testing.T) {
	if !park.Supported() {
		t.Skip("needs a poller for sockets: Linux or a BSD")
	}
	if !envconfig.HTTPFramerReadBufferPooling {
		t.Skip("a connection with a reader of its own does not park")
	}
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			const n = 100
			lent := imem.Default().Stats().Buffers
			s := startServer(t, network, ServerConfig{}, echoUnary)
			goroutines := runtime.NumGoroutine()
			clients := make([]*Client, n)
			for i := range clients {
				clients[i], _ = s.dial(nil)
			}
			for range 3 {
				for i, c := range clients {
					msg := fmt.Sprint("call ", i)
					if got, err := unary(context.Background(), c, []byte(msg)); err != nil || string(got) != msg {
						t.Fatal(string(got), err)
					}
				}
				waitFor(t, "all connections to park", func() bool { return park.ReadStats().Parked == 2*n })
				// The last handler may still be about to return; and what an earlier test
				// had lent may have come back meanwhile.
				waitFor(t, "all buffers to be back in the pool", func() bool { return imem.Default().Stats().Buffers <= lent })
				// Those that wait for all connections are three at most, however many there are.
				waitFor(t, "goroutines to end", func() bool { return runtime.NumGoroutine() <= goroutines+4 })
			}
		})
	}
}
