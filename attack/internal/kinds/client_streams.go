// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"time"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

// clientStreamKinds are attacks on a client with streams that end at once, or never.
var clientStreamKinds = []Kind{
	{
		Name: "client/reset/refused", Work: callers(20), Short: true,
		About:  "every call is reset as REFUSED_STREAM, which asks for another attempt (gRFC A6)",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error { return c.Reset(id, wire.RefusedStream) }),
	},
	{
		Name: "client/reset/cancel", Work: callers(20),
		About:  "every call is reset",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error { return c.Reset(id, wire.Cancel) }),
	},
	{
		Name: "client/reset/no-error", Work: streams(orders.Sink, 20), Own: 20 * poured,
		About:  "every call is reset with NO_ERROR while it sends (RFC 9113, 8.1)",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error { return c.Reset(id, wire.NoError) }),
	},
	{
		Name: "client/reset/idle-flood", Work: callers(10),
		About:  "RST_STREAM for streams that were never opened (CVE-2019-9514)",
		Attack: serveFlood(true, func(c *attacker.Conn) error { return c.Reset(1<<20+1, wire.Cancel) }),
	},
	{
		Name: "client/reset/closed-flood", Work: callers(10),
		About: "1,000 times RST_STREAM for each call",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error {
			for range 1000 {
				if err := c.Reset(id, wire.Cancel); err != nil {
					return err
				}
			}
			return nil
		}),
	},
	{
		Name: "client/reset/pushback", Work: callers(20),
		About: "calls end with UNAVAILABLE and a push-back of 0 ms (gRFC A6)",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error {
			return c.Headers(id, wire.EndStream, append(wire.Response(), appendAll(nil,
				wire.Field{Name: "grpc-status", Value: "14"}, wire.Field{Name: "grpc-retry-pushback-ms", Value: "0"})...))
		}),
	},
	{
		Name: "client/stream/no-answer", Work: callers(500),
		About:  "500 calls at a time that are never answered",
		Attack: serveStreams(func(*attacker.Conn, uint32) error { return nil }),
	},
	{
		Name: "client/stream/headers-then-nothing", Work: callers(500),
		About:  "500 calls at a time with a beginning of an answer",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error { return c.Headers(id, 0, wire.Response()) }),
	},
	{
		Name: "client/window/zero", Work: streams(orders.Sink, 500), Own: 500 * poured, Short: true,
		About:  "500 streams that want to send, in windows of 0",
		Attack: clientWindow(0, nil),
	},
	{
		Name: "client/window/dribble", Work: streams(orders.Sink, 100), Own: 100 * poured,
		About: "100 streams that want to send, a byte at a time (CVE-2019-9517)",
		Attack: clientWindow(0, func(c *attacker.Conn, id uint32) error {
			for range 200 {
				if err := c.Window(id, 1); err != nil {
					return err
				}
			}
			return nil
		}),
	},
	{
		Name: "client/window/unread", Work: streams(orders.Sink, 500), Own: 500 * poured, Short: true,
		About: "500 streams that want to send, windows of 2^31-1, nobody reads",
		Attack: func(a *attacker.Attacker) error {
			return a.Serve(func(c *attacker.Conn) error {
				c.Narrow()
				if err := c.Settings(wire.Setting{ID: wire.InitialWindowSize, Value: 1<<31 - 1}); err != nil {
					return err
				}
				if err := c.Window(0, 1<<31-1-window); err != nil {
					return err
				}
				if err := c.Flush(); err != nil {
					return err
				}
				a.Sleep(a.Left())
				return nil
			})
		},
	},
	{
		Name: "client/window/stream-flood", Work: streams(orders.Deaf, 10),
		About: "WINDOW_UPDATE of 1 for streams that are open",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error {
			for range 100_000 {
				if err := c.Window(id, 1); err != nil {
					return err
				}
			}
			return nil
		}),
	},
	{
		Name: "client/stream/linger", Time: 3 * time.Second,
		Work:  &orders.Work{Method: orders.Echo, Callers: 1, Channels: 300, Deadline: 10 * time.Second},
		About: "answers after 150 ms on 300 connections: just when they are about to park",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error {
			c.Attacker().Sleep(150 * time.Millisecond)
			return answer(c, id, nil)
		}),
	},
}

// clientWindow gives streams a window of a size, and does something to each.
func clientWindow(size uint32, do func(*attacker.Conn, uint32) error) attack {
	return func(a *attacker.Attacker) error {
		return a.Serve(func(c *attacker.Conn) error {
			if err := c.Settings(wire.Setting{ID: wire.InitialWindowSize, Value: size}); err != nil {
				return err
			}
			return c.EachStream(func(id uint32) error {
				if do == nil {
					return nil
				}
				return do(c, id)
			})
		})
	}
}

// answer answers a call as it should be.
func answer(c *attacker.Conn, id uint32, m []byte) error {
	if err := c.Headers(id, 0, wire.Response()); err != nil {
		return err
	}
	if err := c.Frame(wire.Data, 0, id, wire.AppendMessage(nil, 0, m)); err != nil {
		return err
	}
	return c.Headers(id, wire.EndStream, wire.Trailers())
}
