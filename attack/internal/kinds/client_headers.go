// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"bytes"
	"strings"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

// clientHeaderKinds are attacks on a client with header blocks.
var clientHeaderKinds = []Kind{
	{
		Name: "client/headers/amplification", Work: streams(orders.Deaf, 100), Short: true,
		About:  "4 KB of one-byte references to a table entry of 4 KB in the answer to each of 100 streams",
		Attack: serveStreams(amplifiedAnswer(0, large)),
	},
	{
		Name: "client/headers/amplification-trailers", Work: callers(20),
		About:  "the same in trailers, call after call",
		Attack: serveStreams(amplifiedAnswer(wire.EndStream, large)),
	},
	{
		Name: "client/headers/amplification-binary", Work: streams(orders.Asks, 20), Short: true,
		About:  "one-byte references to a -bin entry of 4 KB, for 20 callers that ask for headers",
		Attack: serveStreams(amplifiedAnswer(0, wire.Field{Name: "x-bin", Value: bytesOf(4000)})),
	},
	{
		Name: "client/headers/amplification-split", Work: streams(orders.Asks, 20), Short: true,
		About:  "the same, and the entry is 4,000 commas, each of which makes another value",
		Attack: serveStreams(amplifiedAnswer(0, wire.Field{Name: "x-bin", Value: strings.Repeat(",", 4000)})),
	},
	{
		Name: "client/headers/amplification-tiny", Work: streams(orders.Deaf, 1000), Short: true,
		About:  "one-byte references to 30 table entries of a few bytes, all of them new, in the answer to each of 1,000 streams",
		Attack: serveStreams(freshAnswer("x", 30)),
	},
	{
		Name: "client/headers/amplification-name", Work: streams(orders.Deaf, 1000),
		About:  "a new table entry under a name of 3 KB that the table has, and a reference to it, in the answer to each of 1,000 streams",
		Attack: serveStreams(freshAnswer(bytesOf(3000), 1)),
	},
	{
		Name: "client/headers/15-mb", Work: streams(orders.Deaf, 10), Short: true,
		About:  "15 MB of headers in the answer to each of 10 streams",
		Attack: serveStreams(largeAnswer(15<<20, 0)),
	},
	{
		Name: "client/headers/16-mb-one-field", Work: streams(orders.Deaf, 10),
		About:  "one field of 16 MB in the answer to each of 10 streams",
		Attack: serveStreams(oneField(16<<20 - 1000)),
	},
	{
		Name: "client/headers/15-mb-trailers", Work: callers(10),
		About:  "15 MB of trailers, call after call",
		Attack: serveStreams(largeAnswer(15<<20, wire.EndStream)),
	},
	{
		Name: "client/headers/tiny-fields", Work: streams(orders.Deaf, 20),
		About: "100,000 fields of one byte in the answer to each of 20 streams",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error {
			b := wire.Response()
			for range 100_000 {
				b = wire.AppendField(b, "x", "")
			}
			return c.Headers(id, 0, b)
		}),
	},
	{
		Name: "client/headers/continuation", Work: callers(10), Short: true,
		About: "CONTINUATION without end (CVE-2023-45288)",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error {
			if err := c.Frame(wire.Headers, 0, id, wire.Response()); err != nil {
				return err
			}
			return repeat(c, frame(wire.Continuation, 0, id, wire.AppendField(nil, "x", bytesOf(1000))))
		}),
	},
	{
		Name: "client/headers/continuation-empty", Work: callers(10),
		About: "CONTINUATION of length 0 without end (CVE-2023-45288)",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error {
			if err := c.Frame(wire.Headers, 0, id, wire.Response()); err != nil {
				return err
			}
			return repeat(c, frame(wire.Continuation, 0, id, nil))
		}),
	},
	{
		Name: "client/headers/incomplete", Work: &orders.Work{Method: orders.Deaf, Callers: 1, Channels: 100, Deadline: tooLong},
		About: "3 MB of a block that never ends, on 100 connections",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error {
			if err := c.Frame(wire.Headers, 0, id, wire.Response()); err != nil {
				return err
			}
			piece := bytes.Repeat(wire.AppendField(nil, "x", bytesOf(1000)), 15)
			for range 200 {
				if err := c.Frame(wire.Continuation, 0, id, piece); err != nil {
					return err
				}
			}
			return nil
		}),
	},
	{
		Name: "client/headers/informational", Work: callers(10),
		About: "100 Continue without end (RFC 9113, 8.1)",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error {
			return repeat(c, func(c *attacker.Conn) error {
				return c.Headers(id, 0, wire.AppendField(nil, ":status", "100"))
			})
		}),
	},
	{
		Name: "client/headers/twice", Work: streams(orders.Deaf, 50),
		About: "an answer that begins 100 times",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error {
			for range 100 {
				if err := c.Headers(id, 0, wire.Response(wire.Field{Name: "x", Value: bytesOf(1000)})); err != nil {
					return err
				}
			}
			return nil
		}),
	},
	{
		Name: "client/headers/status-message", Work: callers(20),
		About: "a grpc-message of 1 MB, percent-coded throughout",
		Attack: serveStreams(trailersOnly(wire.Field{Name: "grpc-status", Value: "2"},
			wire.Field{Name: "grpc-message", Value: percent(1 << 20)})),
	},
	{
		Name: "client/headers/status-details", Work: callers(20),
		About: "grpc-status-details-bin of 1 MB",
		Attack: serveStreams(trailersOnly(wire.Field{Name: "grpc-status", Value: "2"},
			wire.Field{Name: "grpc-status-details-bin", Value: bytesOf(1 << 20)})),
	},
	{
		Name: "client/headers/not-grpc", Work: callers(20),
		About: "200 with text/html and a body without end",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error {
			if err := c.Headers(id, 0, appendAll([]byte{0x88}, wire.Field{Name: "content-type", Value: "text/html"})); err != nil {
				return err
			}
			return c.Frame(wire.Data, 0, id, make([]byte, 16<<10))
		}),
	},
	{
		Name: "client/headers/bad-index", Work: callers(10),
		About:  "a reference to an entry that does not exist: a connection error each",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error { return c.Headers(id, 0, []byte{0x88, 0xff, 0xff, 0x7f}) }),
	},
}

// large is a field that nearly fills a table.
var large = wire.Field{Name: "x", Value: bytesOf(4000)}

func amplifiedAnswer(flags byte, f wire.Field) func(*attacker.Conn, uint32) error {
	first, again := amplifiedBy(wire.Response(), f, true), amplifiedBy(wire.Response(), f, false)
	return func(c *attacker.Conn, id uint32) error {
		if id == 1 {
			return c.Headers(id, flags, first)
		}
		return c.Headers(id, flags, again)
	}
}

// freshAnswer enters n entries in the table under a name, which the first answer brings, and
// refers to each.
func freshAnswer(name string, n int) func(*attacker.Conn, uint32) error {
	return func(c *attacker.Conn, id uint32) error {
		b := wire.Response()
		for j := range n {
			value := string([]byte{'0' + byte(id>>7&63), '0' + byte(id>>1&63), '0' + byte(j)})
			if id == 1 && j == 0 {
				b = wire.AppendNew(b, name, value)
			} else {
				b = wire.AppendNewNamed(b, wire.FirstDynamic, value)
			}
		}
		return c.Headers(id, 0, refer(b, n))
	}
}

// largeAnswer is n bytes of fields of 1 KB.
func largeAnswer(n int, flags byte) func(*attacker.Conn, uint32) error {
	b := wire.Response()
	for len(b) < n {
		b = wire.AppendField(b, "x", bytesOf(1000))
	}
	return func(c *attacker.Conn, id uint32) error { return c.Headers(id, flags, b) }
}

func oneField(n int) func(*attacker.Conn, uint32) error {
	b := wire.Response(wire.Field{Name: "x", Value: bytesOf(n)})
	return func(c *attacker.Conn, id uint32) error { return c.Headers(id, 0, b) }
}

func trailersOnly(fields ...wire.Field) func(*attacker.Conn, uint32) error {
	b := wire.Response(fields...)
	return func(c *attacker.Conn, id uint32) error { return c.Headers(id, wire.EndStream, b) }
}

func percent(n int) string {
	b := make([]byte, 0, n)
	for len(b) < n {
		b = append(b, "%20"...)
	}
	return string(b)
}
