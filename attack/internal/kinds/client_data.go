// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"time"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

const tooLong = time.Minute

// clientDataKinds are attacks on a client with DATA frames and the messages in them.
var clientDataKinds = []Kind{
	{
		Name: "client/data/one-byte-of-4-mib", Work: streams(orders.Pour, 2000), Own: 2000 * calling, Short: true,
		About:  "one byte of a message of 4 MiB on each of 2,000 streams",
		Attack: serveStreams(begin(append(wire.AppendPrefix(nil, 0, 4*mib-1), 0))),
	},
	{
		Name: "client/data/tiny-unread", Work: &orders.Work{Method: orders.Deaf, Callers: 50, Channels: 8, Deadline: tooLong}, Short: true,
		About:  "26 MB of messages of one byte that nobody reads, on 400 streams",
		Attack: serveStreams(begin(messages([]byte{0}))),
	},
	{
		Name: "client/data/tiny-behind-end", Work: callers(20), Short: true,
		About:  "windows full of messages of one byte in answers to calls that want one message",
		Attack: serveStreams(begin(messages([]byte{0}))),
	},
	{
		Name: "client/data/tiny-behind-first", Work: streams(orders.Pour, 20),
		About:  "windows full of messages of one byte, of which the first is none of its type",
		Attack: serveStreams(begin(messages([]byte{0}))),
	},
	{
		Name: "client/data/empty-read", Work: streams(orders.Pour, 50),
		About:  "windows full of empty messages, which are read",
		Attack: serveStreams(begin(messages(nil))),
	},
	{
		Name: "client/data/empty-unread", Work: &orders.Work{Method: orders.Deaf, Callers: 50, Channels: 8, Deadline: tooLong},
		About:  "26 MB of empty messages that nobody reads, on 400 streams",
		Attack: serveStreams(begin(messages(nil))),
	},
	{
		Name: "client/data/full-windows", Work: &orders.Work{Method: orders.Deaf, Callers: 250, Channels: 4, Deadline: tooLong},
		About:  "windows full of messages of 4 KB that nobody reads, on 1,000 streams",
		Attack: serveStreams(begin(repeated(wire.AppendMessage(nil, 0, make([]byte, 4<<10))))),
	},
	{
		Name: "client/data/half-messages", Work: &orders.Work{Method: orders.Pour, Callers: 250, Channels: 4, Deadline: tooLong},
		About:  "60 KB of a message of 4 MiB on each of 1,000 streams",
		Attack: serveStreams(begin(append(wire.AppendPrefix(nil, 0, 4*mib-1), make([]byte, 60<<10)...))),
	},
	{
		Name: "client/data/gzip-bomb", Work: callers(10), Own: 10 * 4 * mib, Short: true, // what a message may be, each
		About:  "60 KB that gzip blows up to 60 MB",
		Attack: serveStreams(begin(wire.AppendMessage(nil, 1, bomb(60*mib)), gzipEncoding)),
	},
	{
		Name: "client/data/gzip-unread", Work: &orders.Work{Method: orders.Deaf, Callers: 50, Channels: 8, Deadline: tooLong},
		About:  "windows full of compressed messages that nobody reads, on 400 streams",
		Attack: serveStreams(begin(repeated(wire.AppendMessage(nil, 1, bomb(4*mib-8))), gzipEncoding)),
	},
	{
		Name: "client/data/declared-4-gib", Work: callers(20),
		About:  "messages of 4 GiB, declared",
		Attack: serveStreams(begin(wire.AppendPrefix(nil, 0, 1<<32-1))),
	},
	{
		Name: "client/data/empty-frames", Work: streams(orders.Pour, 10),
		About: "DATA of length 0 without end (CVE-2019-9518)",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error {
			if err := c.Headers(id, 0, wire.Response()); err != nil {
				return err
			}
			return repeat(c, frame(wire.Data, 0, id, nil))
		}),
	},
	{
		Name: "client/data/one-byte-frames", Work: streams(orders.Pour, 10),
		About: "a message of 4 MiB in frames of one byte (CVE-2026-84304)",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error {
			if err := begin(wire.AppendPrefix(nil, 0, 4*mib-1))(c, id); err != nil {
				return err
			}
			for range 6000 {
				if err := c.Frame(wire.Data, 0, id, []byte{0}); err != nil {
					return err
				}
			}
			return nil
		}),
	},
	{
		Name: "client/data/padding", Work: streams(orders.Pour, 10),
		About: "DATA of 255 bytes of padding and nothing else (RFC 9113, 6.1)",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error {
			if err := c.Headers(id, 0, wire.Response()); err != nil {
				return err
			}
			pad := append([]byte{255}, make([]byte, 255)...)
			for range 20 {
				if err := c.Frame(wire.Data, wire.Padded, id, pad); err != nil {
					return err
				}
			}
			return nil
		}),
	},
	{
		Name: "client/data/before-headers", Work: callers(20), Busy: failing,
		About:  "DATA before HEADERS",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error { return c.Frame(wire.Data, 0, id, make([]byte, 1000)) }),
	},
	{
		Name: "client/data/overrun", Work: streams(orders.Deaf, 10),
		About: "more DATA than the window allows (RFC 9113, 5.2.1)",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error {
			if err := c.Headers(id, 0, wire.Response()); err != nil {
				return err
			}
			return repeat(c, frame(wire.Data, 0, id, make([]byte, 16<<10)))
		}),
	},
	{
		Name: "client/data/extra-messages", Work: callers(20),
		About: "60 messages in the answer to a call that wants one",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error {
			var b []byte
			for range 60 {
				b = wire.AppendMessage(b, 0, make([]byte, 200))
			}
			return begin(b)(c, id)
		}),
	},
}

var gzipEncoding = wire.Field{Name: "grpc-encoding", Value: "gzip"}

// begin answers with the beginning of a body; a window's worth of it goes through.
func begin(body []byte, more ...wire.Field) func(*attacker.Conn, uint32) error {
	return func(c *attacker.Conn, id uint32) error {
		if err := c.Headers(id, 0, wire.Response(more...)); err != nil {
			return err
		}
		return c.Data(id, 0, body)
	}
}
