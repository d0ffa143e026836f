// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/wire"
)

// records sends bytes below TLS, behind what was sent properly.
func records(text string) script {
	return func(c *attacker.Conn) error {
		if err := c.Flush(); err != nil {
			return err
		}
		return c.Below([]byte(text))
	}
}

// recordsAgain sends bytes below the security on a connection, and takes the next.
func recordsAgain(text string) script {
	return func(c *attacker.Conn) error { return first(records(text)(c), errAgain) }
}

// tinyRecords is a PING of which each byte is written alone.
func tinyRecords(c *attacker.Conn) error {
	for _, b := range wire.AppendFrame(nil, wire.Frame{Type: wire.Ping, Payload: make([]byte, 8)}) {
		if err := c.Raw([]byte{b}); err != nil {
			return err
		}
		if err := c.Flush(); err != nil {
			return err
		}
	}
	return nil
}
