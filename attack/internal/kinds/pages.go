// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"time"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

// pageKinds are attacks with header blocks that are made to be costly to read, rather than to hold:
// many fields, and entries of the table that come and go between them.
var pageKinds = []Kind{
	{
		Name: "server/pages/large-entries", Serve: limited,
		About:  "100,000 references to a small entry, and 5,000 entries of 260 octets with a reference each, in one block",
		Attack: flood(1, true, request(pagedBlock(wire.Request(orders.Echo), 100_000, 5000))),
	},
	{
		Name: "server/pages/large-entries-read", Serve: limited, Short: true,
		About:  "the same, for a handler that asks for its metadata",
		Attack: flood(1, true, request(pagedBlock(wire.Request(orders.Keeps), 100_000, 5000))),
	},
	{
		Name: "server/pages/tls", Serve: secured,
		About:  "the same over TLS",
		Attack: flood(1, true, request(pagedBlock(wire.Request(orders.Keeps), 100_000, 5000))),
	},
	{
		Name: "server/pages/oldest", Serve: limited,
		About:  "entries of 40 octets, each followed by a reference to the oldest that the table has",
		Attack: flood(2, true, request(oldestBlock(wire.Request(orders.Keeps), 20_000))),
	},
	{
		Name: "server/pages/names", Serve: limited,
		About:  "20,000 fields under 20,000 names, for a handler that asks for its metadata",
		Attack: flood(2, true, request(namesBlock(wire.Request(orders.Keeps), 20_000))),
	},
	{
		Name: "server/pages/same-name", Serve: limited,
		About:  "100,000 fields under one name, for a handler that asks for its metadata",
		Attack: flood(2, true, request(appendMany(wire.Request(orders.Keeps), 100_000, "x", "y"))),
	},
	{
		Name: "server/pages/cookies", Serve: limited,
		About:  "50,000 cookies of one byte (RFC 9113, 8.2.3), for a handler that asks for its metadata",
		Attack: flood(2, true, request(appendMany(wire.Request(orders.Keeps), 50_000, "cookie", "a"))),
	},
	{
		Name: "server/pages/kept-values", Serve: limited, Short: true, Keeps: 128 * orders.MaxKept,
		About: "a value of 14 bytes, which a handler keeps for ever, in a block of 60 KB, call after call",
		Attack: flood(2, true, request(append(wire.AppendField(wire.Request(orders.Keeps), orders.Keep, "fourteen bytes"),
			wire.AppendField(nil, "x", bytesOf(60<<10))...))),
	},
	{
		Name: "server/pages/kept-entries", Serve: limited, Keeps: 128 * orders.MaxKept,
		About: "a value of the table, which a handler keeps for ever, beside references to an entry of 4 KB, on many connections",
		Attack: flood(8, true, func(c *attacker.Conn) error {
			block := wire.AppendNew(wire.Request(orders.Keeps), orders.Keep, "fourteen bytes")
			if err := c.Headers(c.Stream(), wire.EndStream, wire.AppendNew(block, "x", bytesOf(3900))); err != nil {
				return err
			}
			if err := c.Flush(); err != nil {
				return err
			}
			if !c.Attacker().Sleep(30 * time.Millisecond) {
				return nil
			}
			return errAgain
		}),
	},
	{
		Name: "client/pages/large-entries", Work: callers(4), Short: true,
		About:  "100,000 references and 5,000 entries of 260 octets in the headers of an answer",
		Attack: serveStreams(headersOf(0, pagedBlock(wire.Response(), 100_000, 5000))),
	},
	{
		Name: "client/pages/large-entries-read", Work: &orders.Work{Method: orders.Keeps, Callers: 4, Deadline: tooLong},
		About:  "the same, for callers that ask for the headers",
		Attack: serveStreams(headersOf(0, pagedBlock(wire.Response(), 100_000, 5000))),
	},
	{
		Name: "client/pages/trailers", Work: callers(4),
		About:  "the same in trailers",
		Attack: serveStreams(headersOf(wire.EndStream, pagedBlock(wire.Response(wire.Field{Name: "grpc-status", Value: "2"}), 100_000, 5000))),
	},
	{
		Name: "client/pages/names", Work: &orders.Work{Method: orders.Keeps, Callers: 4, Deadline: tooLong},
		About:  "20,000 fields under 20,000 names, for callers that ask for the headers",
		Attack: serveStreams(headersOf(0, namesBlock(wire.Response(), 20_000))),
	},
	{
		Name: "client/pages/kept-values", Work: &orders.Work{Method: orders.Keeps, Callers: 4, Deadline: tooLong},
		Keeps: 128 * orders.MaxKept,
		About: "a value of 14 bytes, which callers keep for ever, in headers of 60 KB",
		Attack: serveStreams(headersOf(0, wire.Response(wire.Field{Name: orders.Keep, Value: "fourteen bytes"},
			wire.Field{Name: "x", Value: bytesOf(60 << 10)}))),
	},
}

// pagedBlock appends references to a small entry, and entries above 256 octets with a reference each.
func pagedBlock(b []byte, refs, entries int) []byte {
	b = wire.AppendNew(b, "a", "0")
	for range refs {
		b = wire.AppendRef(b, wire.FirstDynamic)
	}
	value := bytesOf(260)
	for range entries {
		b = wire.AppendRef(wire.AppendNew(b, "b", value), wire.FirstDynamic)
	}
	return b
}

// oldestBlock appends n entries, and behind each, once the table is full, a reference to its oldest.
func oldestBlock(b []byte, n int) []byte {
	const room = 4096 / (40 + 32)
	for i := range n {
		b = wire.AppendNew(b, "b", bytesOf(39))
		if i >= room {
			b = wire.AppendRef(b, wire.FirstDynamic+room-1)
		}
	}
	return b
}

// namesBlock appends n fields with a name each.
func namesBlock(b []byte, n int) []byte {
	for i := range n {
		b = wire.AppendField(b, "x-"+string([]byte{'a' + byte(i>>12&15), 'a' + byte(i>>8&15), 'a' + byte(i>>4&15), 'a' + byte(i&15)}), "v")
	}
	return b
}

func appendMany(b []byte, n int, name, value string) []byte {
	for range n {
		b = wire.AppendField(b, name, value)
	}
	return b
}

// headersOf answers each call with a block.
func headersOf(flags byte, block []byte) func(*attacker.Conn, uint32) error {
	return func(c *attacker.Conn, id uint32) error { return c.Headers(id, flags, block) }
}
