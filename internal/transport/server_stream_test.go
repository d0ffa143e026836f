// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// TestWatchedHandlerCounts: a handler whose call is over counts as running for as long as programs are
// told of that, so a peer can't have more of them than it may have streams.
func TestWatchedHandlerCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun atomic.Int32
		told := make(chan struct{})
		s := startServer(t, "memory", ServerConfig{MaxStreams: 1}, func(s *ServerStream) {
			begun.Add(1)
			s.Watched()
			_ = s.Finish(nil)
			s.Flush()
			<-told
		})
		c, _ := s.dial(nil)
		call := func() *ClientStream {
			st, err := c.NewStream(context.Background(), &Call{Method: "/test.Echo/Any"}, nil, true)
			if err != nil {
				t.Fatal(err)
			}
			return st
		}
		call().AwaitEnd()
		second := call()
		synctest.Wait()
		if n := begun.Load(); n != 1 {
			t.Errorf("%d handlers run, and one may", n)
		}
		close(told)
		second.AwaitEnd()
	})
}
