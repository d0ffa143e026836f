// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"sync"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/internal/transport/h2/protocol"
	"google.golang.org/grpc/mem"
)

// TestCloseRacesStart is for the race detector: any goroutine may close a connection while it is started.
func TestCloseRacesStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for range 100 {
			self, nc := memPipe(1 << 16)
			role := &testRole{}
			c := New(self, protocol.Server, &protocol.Config{Pool: mem.DefaultBufferPool()}, role)
			var both sync.WaitGroup
			both.Go(c.Start)
			both.Go(func() { c.Close(nil) })
			both.Wait()
			synctest.Wait()
			same(t, "told", role.take(), []string{"closed: " + protocol.ErrClosed.Error()})
			nc.Close()
		}
	})
}
