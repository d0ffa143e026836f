// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// TestHeldCallsAreCounted: a call whose connection ends in the batch that opened it has failed. No handler sees it.
func TestHeldCallsAreCounted(t *testing.T) {
	broken := frame.AppendHeader(nil, frame.Header{Type: frame.PushPromise, StreamID: 1})
	for name, between := range map[string][]byte{
		"open":  nil,
		"reset": frame.AppendRSTStream(nil, 1, frame.Cancel),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startServer(t, "memory", ServerConfig{}, func(*ServerStream) { t.Error("the handler ran") })
				p := rawClient(t, s)
				synctest.Wait()
				var server *Server
				s.each(func(c *Server) { server = c })
				p.write(append(append(headers(false, requestFields), between...), broken...))
				p.nc.Close()
				<-s.closed
				if got := server.Stats(); got.Started != 1 || got.Failed != 1 || got.Succeeded != 0 {
					t.Errorf("%d began, %d succeeded, %d failed", got.Started, got.Succeeded, got.Failed)
				}
			})
		})
	}
}
