// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

// requestKinds are attacks on a server with calls that it has to refuse.
var requestKinds = []Kind{
	{
		Name: "server/request/unknown-unread", Short: true,
		About:  "calls of a method that does not exist, by the ten thousand; nobody reads",
		Attack: flood(4, false, request(unknownCall)),
	},
	{
		Name:   "server/request/unknown",
		About:  "the same, answers are read",
		Attack: flood(4, true, request(unknownCall)),
	},
	{
		Name:   "server/request/unknown-open",
		About:  "calls of a method that does not exist whose clients do not end them",
		Attack: flood(4, true, func(c *conn) error { return c.Headers(c.Stream(), 0, unknownCall) }),
	},
	{
		Name: "server/request/bad-timeout", Short: true,
		About:  "calls with a grpc-timeout that means nothing; nobody reads",
		Attack: flood(4, false, request(badTimeoutCall)),
	},
	{
		Name:   "server/request/bad-timeout-read",
		About:  "the same, answers are read",
		Attack: flood(4, true, request(badTimeoutCall)),
	},
	{
		Name:   "server/request/short-timeout",
		About:  "calls of 1 ns of a handler that takes 50 ms",
		Attack: flood(4, true, request(wire.Request(orders.Slow, wire.Field{Name: "grpc-timeout", Value: "1n"}))),
	},
	{
		Name: "server/request/over-limit", Serve: limited,
		About:  "10 times as many calls as MaxConcurrentStreams(100) allows, again and again (RFC 9113, 5.1.2)",
		Attack: flood(4, true, request(wire.Request(orders.Slow))),
	},
	{
		Name: "server/request/over-limit-unread", Serve: limited,
		About:  "calls beyond MaxConcurrentStreams(100) whose refusals nobody reads",
		Attack: flood(4, false, func(c *conn) error { return c.Headers(c.Stream(), 0, wire.Request(orders.Deaf)) }),
	},
	{
		Name: "server/request/over-limit-late", Serve: limited, Short: true,
		About:  "calls beyond MaxConcurrentStreams(100), with 20 frames behind each that is refused",
		Attack: flood(4, true, refusedAndLate),
	},
	{
		Name:   "server/request/content-type",
		About:  "requests that are not gRPC: 415",
		Attack: flood(4, false, request(block(wire.Field{Name: ":path", Value: orders.Echo}, wire.Field{Name: "content-type", Value: "text/html"}))),
	},
	{
		Name:  "server/request/method-get",
		About: "GET: 405",
		Attack: flood(4, true, request(appendAll([]byte{0x82, 0x86},
			wire.Field{Name: ":path", Value: orders.Echo}, wire.Field{Name: ":authority", Value: "a"},
			wire.Field{Name: "content-type", Value: "application/grpc"}))),
	},
	{
		Name:   "server/request/path",
		About:  "a :path without a slash in front (CVE-2026-33186)",
		Attack: flood(4, true, request(wire.Request("no.slash/Method"))),
	},
	{
		Name:   "server/request/no-authority",
		About:  "neither :authority nor host (GHSA-2v4p-qf9q-27wj)",
		Attack: flood(4, true, request(block(wire.Field{Name: ":path", Value: orders.Echo}, wire.Field{Name: "content-type", Value: "application/grpc"}))),
	},
	{
		Name:   "server/request/malformed",
		About:  "upper case in names, pseudo fields twice and behind others (RFC 9113, 8.2, 8.3)",
		Attack: flood(4, true, request(wire.Request(orders.Echo, wire.Field{Name: "X-Upper", Value: "1"}, wire.Field{Name: ":path", Value: "/a/b"}))),
	},
	{
		Name:   "server/request/connection-field",
		About:  "fields that belong to HTTP/1 (RFC 9113, 8.2.2)",
		Attack: flood(4, true, request(wire.Request(orders.Echo, wire.Field{Name: "connection", Value: "close"}))),
	},
	{
		Name:   "server/request/encoding",
		About:  "a grpc-encoding that nobody knows, of 8 KB, which the status may repeat",
		Attack: flood(4, false, request(wire.Request(orders.Echo, wire.Field{Name: "grpc-encoding", Value: bytesOf(8 << 10)}))),
	},
	{
		Name:   "server/request/long-path",
		About:  "paths of 64 KB, which the status may repeat; nobody reads",
		Attack: flood(4, false, request(wire.Request("/"+bytesOf(64<<10)+"/x"))),
	},
}

var (
	unknownCall    = wire.Request("/no.Such/Method")
	badTimeoutCall = wire.Request(orders.Echo, wire.Field{Name: "grpc-timeout", Value: "soon"})
)

// refusedAndLate opens a stream, which is refused once 100 are open, and goes on about it.
func refusedAndLate(c *conn) error {
	id := c.Stream()
	err := c.Headers(id, 0, wire.Request(orders.Deaf))
	for i := 0; err == nil && i < 20; i++ {
		err = c.Window(id, 1)
	}
	return err
}

// block is a POST with these fields only.
func block(fields ...wire.Field) []byte { return appendAll([]byte{0x83, 0x86}, fields...) }

func appendAll(b []byte, fields ...wire.Field) []byte {
	for _, f := range fields {
		b = wire.AppendField(b, f.Name, f.Value)
	}
	return b
}
