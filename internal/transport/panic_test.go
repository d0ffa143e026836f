// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"testing"
	"testing/synctest"
)

// TestPanicResetsStream: a panic while a request is parsed ends that call alone.
func TestPanicResetsStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := ServerConfig{Known: func(path []byte) Method {
			if string(path) == "/a.B/Panic" {
				panic("at that path")
			}
			return nil
		}}
		s := startServer(t, "memory", cfg, func(s *ServerStream) { _ = s.Finish(nil) })
		p := rawClient(t, s)
		p.write(headers(true, altered(":path", "/a.B/Panic")))
		p.write(fieldBlock(headersParams{StreamID: 3, Block: block(requestFields...), EndStream: true}))
		got := p.answer()
		if got.reset != "INTERNAL_ERROR" || got.fields["grpc-status"] != "0" {
			t.Errorf("the first call is reset with %q, the other answered with %q", got.reset, got.fields)
		}
	})
}
