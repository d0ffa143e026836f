// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/internal/transport/h2/protocol"
	"google.golang.org/grpc/mem"
)

// TestGoAwayFlood: a server makes no garbage of the GOAWAYs of its clients, and ends a connection with
// too many.
func TestGoAwayFlood(t *testing.T) {
	const debug = 16_000 // bytes
	for name, code := range map[string]http2.ErrCode{"no error": 0, "a complaint": 2} {
		t.Run(name, func(t *testing.T) {
			nc, ns := socketPair(t, "tcp", 0)
			role := newSpinRole(true)
			c := New(ns, protocol.Server, &protocol.Config{Pool: mem.DefaultBufferPool(), Pooled: true}, role)
			c.Start()
			defer func() {
				c.Close(nil)
				<-role.closed
				nc.Close()
			}()
			frame := goAway(0, code, strings.Repeat("x", debug))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			nc.Write(join([]byte(http2.ClientPreface), settings()))
			for range protocol.FloodLimit - 10 {
				if _, err := nc.Write(frame); err != nil {
					t.Fatal(err)
				}
			}
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
				t.Errorf("%d bytes were allocated for %d that came", n, protocol.FloodLimit*len(frame))
			}
			nc.Write(bytes.Repeat(frame, 20))
			nc.SetReadDeadline(time.Now().Add(time.Minute))
			said, err := io.ReadAll(nc)
			if !strings.Contains(string(said), "too many frames that serve nothing") {
				t.Errorf("the connection goes on: %q, %v", said, err)
			}
		})
	}
}
