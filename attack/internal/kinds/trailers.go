// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"bytes"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

// trailerKinds are attacks with header blocks that are not the first of a stream: trailers, and responses
// of 1xx; and with how the frames of a block are cut.
var trailerKinds = []Kind{
	{
		Name:   "server/trailers/flood",
		About:  "calls that end with trailers of 20 fields",
		Attack: flood(4, true, trailed(appendMany(nil, 20, "x", "value"))),
	},
	{
		Name: "server/trailers/amplification", Serve: limited, Short: true,
		About: "4,000 references to an entry of 4 KB in the trailers of 100 streams",
		Attack: hold(1, true, func(c *attacker.Conn) error {
			for i := range 100 {
				id := c.Stream()
				if err := c.Headers(id, 0, wire.Request(orders.Deaf)); err != nil {
					return err
				}
				if err := c.Headers(id, wire.EndStream, amplifiedBy(nil, large, i == 0)); err != nil {
					return err
				}
			}
			return nil
		}),
	},
	{
		Name:  "server/trailers/not-ended",
		About: "a second header block that ends no stream (RFC 9113, 8.1: malformed)",
		Attack: flood(4, true, func(c *attacker.Conn) error {
			id := c.Stream()
			return first(c.Headers(id, 0, wire.Request(orders.Sink)), c.Headers(id, 0, wire.Trailers()))
		}),
	},
	{
		Name: "server/trailers/pages", Serve: limited,
		About:  "trailers of 100,000 references and 5,000 entries of 260 octets",
		Attack: flood(1, true, trailed(pagedBlock(nil, 100_000, 5000))),
	},
	{
		Name: "client/informational/hints", Work: callers(10), Short: true,
		About:  "103 with 15 KB of fields, without end (RFC 8297)",
		Attack: serveStreams(headersAgain(wire.AppendField(appendMany(wire.AppendField(nil, ":status", "103"), 15, "link", bytesOf(1000)), "x", ""))),
	},
	{
		Name: "client/informational/amplified", Work: callers(10),
		About: "103 with 3,000 references to an entry of 4 KB, without end",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error {
			begins := wire.AppendField(nil, ":status", "103")
			if err := c.Headers(id, 0, amplifiedBy(bytes.Clone(begins), large, true)); err != nil {
				return err
			}
			return headersAgain(amplifiedBy(begins, large, false))(c, id)
		}),
	},
	{
		Name: "client/informational/ended", Work: callers(20),
		About:  "100 Continue that ends the stream (RFC 9113, 8.1: malformed)",
		Attack: serveStreams(headersOf(wire.EndStream, wire.AppendField(nil, ":status", "100"))),
	},
	{
		Name: "client/informational/switching", Work: callers(20),
		About:  "101 Switching Protocols, which HTTP/2 has not (RFC 9113, 8.6)",
		Attack: serveStreams(headersOf(0, wire.AppendField(nil, ":status", "101"))),
	},
	{
		Name: "client/informational/between", Work: callers(20),
		About: "100 Continue behind headers and between messages",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error {
			if err := c.Headers(id, 0, wire.Response()); err != nil {
				return err
			}
			for range 100 {
				if err := c.Headers(id, 0, wire.AppendField(nil, ":status", "100")); err != nil {
					return err
				}
			}
			return nil
		}),
	},
	{
		Name: "client/trailers/tiny-fields", Work: callers(10),
		About:  "100,000 fields of one byte in trailers",
		Attack: serveStreams(headersOf(wire.EndStream, appendMany(wire.Response(wire.Field{Name: "grpc-status", Value: "2"}), 100_000, "x", ""))),
	},
	{
		Name: "client/trailers/many-statuses", Work: callers(20),
		About:  "grpc-status, grpc-message and details 1,000 times in one block",
		Attack: serveStreams(headersOf(wire.EndStream, appendMany(appendMany(appendMany(wire.Response(), 1000, "grpc-status", "2"), 1000, "grpc-message", "%41%"), 1000, "grpc-status-details-bin", "AAAA"))),
	},
	{
		Name: "server/cut/one-byte", Serve: limited, Short: true,
		About:  "header blocks of 1 KB in frames of one byte",
		Attack: flood(4, true, cut(1, wire.AppendField(wire.Request(orders.Echo), "x", bytesOf(1000)))),
	},
	{
		Name: "server/cut/one-field", Serve: limited,
		About:  "header blocks of 200 fields of three bytes in frames of three bytes",
		Attack: flood(4, true, cut(4, appendMany(wire.Request(orders.Echo), 200, "x", ""))),
	},
	{
		Name: "server/cut/long-field", Serve: limited,
		About: "one field of 60 KB whose value comes in frames of one byte",
		Attack: flood(2, true, func(c *attacker.Conn) error {
			id := c.Stream()
			b := wire.AppendField(wire.Request(orders.Echo), bytesOf(16<<10), bytesOf(30<<10))
			if err := c.Frame(wire.Headers, wire.EndStream, id, b[:16<<10]); err != nil {
				return err
			}
			return pieces(c, id, 1, b[16<<10:])
		}),
	},
	{
		Name: "server/cut/padded", Serve: limited,
		About: "HEADERS with a priority and 255 bytes of padding (RFC 9113, 6.2)",
		Attack: flood(4, true, func(c *attacker.Conn) error {
			b := append([]byte{255, 0, 0, 0, 0, 16}, slowCall...)
			return c.Frame(wire.Headers, wire.EndStream|wire.EndHeaders|wire.Padded|wire.Prioritized, c.Stream(), append(b, make([]byte, 255)...))
		}),
	},
	{
		Name: "server/cut/port-field", Serve: port, Short: true,
		About: "a field of 40 KB that stays unfinished, the rest of a header block of 64 KB a byte a frame, to a port",
		Own:   16 * webConn,
		Attack: flood(4, true, func(c *attacker.Conn) error {
			b := wire.AppendString([]byte{0}, bytesOf(40<<10))
			b = wire.AppendInt(b, 0, 7, 1<<20)
			id := c.Stream()
			for typ := wire.Headers; len(b) > 0; typ = wire.Continuation {
				n := min(len(b), 16<<10)
				if err := c.Frame(typ, 0, id, b[:n]); err != nil {
					return err
				}
				b = b[n:]
			}
			for range 2400 {
				if err := c.Frame(wire.Continuation, 0, id, []byte{'v'}); err != nil {
					return err
				}
			}
			return first(c.Flush(), errAgain)
		}),
	},
	{
		Name: "server/cut/port-huffman", Serve: port, Own: 16 * webConn, Spate: 64 * mib, Keeps: 2 * mib, // net/http's, in the end
		About: "the same with fields that are whole, of one byte a frame, coded by Huffman",
		Attack: flood(4, true, func(c *attacker.Conn) error {
			id, piece := c.Stream(), append([]byte{0, 1, 'x'}, wire.AppendHuffman(nil, 8)...)
			if err := c.Frame(wire.Headers, 0, id, piece); err != nil {
				return err
			}
			for range 3000 {
				if err := c.Frame(wire.Continuation, 0, id, piece); err != nil {
					return err
				}
			}
			return first(c.Flush(), errAgain)
		}),
	},
	{
		Name: "client/cut/one-byte", Work: callers(20),
		About: "headers of 1 KB in frames of one byte",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error {
			b := wire.Response(wire.Field{Name: "x", Value: bytesOf(1000)})
			return first(c.Frame(wire.Headers, wire.EndStream, id, b[:1]), pieces(c, id, 1, b[1:]))
		}),
	},
	{
		Name: "client/cut/padded", Work: callers(20),
		About: "HEADERS with 255 bytes of padding (RFC 9113, 6.2)",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error {
			b := append([]byte{255}, wire.Response(wire.Field{Name: "grpc-status", Value: "2"})...)
			return c.Frame(wire.Headers, wire.EndStream|wire.EndHeaders|wire.Padded, id, append(b, make([]byte, 255)...))
		}),
	},
}

// trailed is a round of a call that ends with trailers.
func trailed(trailers []byte) script {
	return func(c *attacker.Conn) error {
		id := c.Stream()
		return first(c.Headers(id, 0, slowCall), c.Headers(id, wire.EndStream, trailers))
	}
}

// headersAgain sends a block for a stream again and again.
func headersAgain(block []byte) func(*attacker.Conn, uint32) error {
	return func(c *attacker.Conn, id uint32) error {
		return repeat(c, func(c *attacker.Conn) error { return c.Headers(id, 0, block) })
	}
}

// cut is a round of a call whose header block comes in frames of n bytes.
func cut(n int, block []byte) script {
	return func(c *attacker.Conn) error {
		id := c.Stream()
		return first(c.Frame(wire.Headers, wire.EndStream, id, block[:n]), pieces(c, id, n, block[n:]))
	}
}

// pieces goes on with a block in frames of n bytes, to its end.
func pieces(c *attacker.Conn, id uint32, n int, block []byte) error {
	for len(block) > n {
		if err := c.Frame(wire.Continuation, 0, id, block[:n]); err != nil {
			return err
		}
		block = block[n:]
	}
	return c.Frame(wire.Continuation, wire.EndHeaders, id, block)
}
