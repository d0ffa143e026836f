// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"net"
	"testing"

	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/transport/h2/protocol"
	"google.golang.org/grpc/mem"
)

// A connection says why it can't be parked before it is asked whether it is over a socket.
func TestWhyNot(t *testing.T) {
	want := "there is no poller for sockets on this system"
	if park.Supported() {
		want = "it is in a bubble of testing/synctest"
	}
	bubble(t, func(t *testing.T) {
		a, b := net.Pipe()
		defer a.Close()
		defer b.Close()
		c := New(a, protocol.Server, &protocol.Config{Pool: mem.DefaultBufferPool(), Pooled: true}, &testRole{})
		if got := c.WhyNot(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
