// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"io"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/internal/transport/h2/protocol"
	"google.golang.org/grpc/mem"
)

// TestInitialWindowFlood: SETTINGS that change the windows of thousands of streams, again and again,
// end the connection long before as many that change nothing would.
func TestInitialWindowFlood(t *testing.T) {
	const streams, frames = 5000, 1000
	nc, ns := socketPair(t, "tcp", 0)
	role := echoRole()
	c := New(ns, protocol.Server, &protocol.Config{Pool: mem.DefaultBufferPool(), Pooled: true}, role)
	c.Start()
	defer func() {
		c.Close(nil)
		nc.Close()
		awaitIdle(t, role)
	}()
	said := make(chan string, 1)
	go func() {
		nc.SetReadDeadline(time.Now().Add(time.Minute))
		b, _ := io.ReadAll(nc)
		said <- string(b)
	}()
	block := append([]byte{0x83, 0x86, 0x84}, "\x01\x01a"...) // POST, http, /, and :authority a
	b := join([]byte(http2.ClientPreface), settings())
	for i := range streams {
		b = append(b, onWire(func(f *http2.Framer) {
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: block, EndHeaders: true})
		})...)
	}
	for i := range frames {
		b = append(b, settings(4, uint32(65535+i%2))...)
	}
	_, _ = nc.Write(b)
	if got := <-said; !strings.Contains(got, "too many frames that serve nothing") {
		t.Errorf("the connection goes on: %q", got[:min(len(got), 200)])
	}
}
