// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"testing"

	"google.golang.org/grpc/internal/transport"
)

func BenchmarkServerUnary(b *testing.B) {
	c := connect(b, serve(b, newEcho()))
	b.ReportAllocs()
	for b.Loop() {
		c.unary(context.Background(), "a message of a few bytes")
	}
}

func BenchmarkServerStream(b *testing.B) {
	c := connect(b, serve(b, newEcho()))
	r := c.open(context.Background(), transport.Call{Method: "/test.Echo/Bidi"})
	b.ReportAllocs()
	for b.Loop() {
		r.send("a message of a few bytes")
		r.recv()
	}
	r.closeSend()
	r.end()
}
