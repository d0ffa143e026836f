// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// TestRunningHandlerCounts: a handler whose call is over counts as running until it returns, and for as
// long as programs are told of the end, so a peer can't have more of them than it may have streams.
func TestRunningHandlerCounts(t *testing.T) {
	for name, end := range map[string]func(*ServerStream){
		"watched reply": func(s *ServerStream) {
			s.Watched()
			_ = s.Reply(payload([]byte("reply")))
		},
		"end before the return": func(s *ServerStream) { _ = s.Finish(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var begun atomic.Int32
				goOn := make(chan struct{})
				s := startServer(t, "memory", ServerConfig{MaxStreams: 1}, func(s *ServerStream) {
					begun.Add(1)
					end(s)
					s.Flush()
					<-goOn
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
				close(goOn)
				second.AwaitEnd()
			})
		})
	}
}
