// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"time"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
)

// clientRecordKinds are attacks on a client with the records of TLS 1.3 and of ALTS, behind a
// proper handshake.
var clientRecordKinds = []Kind{
	{
		Name: "client/tls/key-updates", Work: over(orders.TLS, 4),
		About:  "KeyUpdates that want one in answer, eight for each WINDOW_UPDATE (RFC 8446, 4.6.3)",
		Attack: serveFlood(true, keyUpdates(true)),
	},
	{
		Name: "client/tls/key-updates-unread", Work: over(orders.TLS, 16), Short: true,
		About:  "the same, nobody reads",
		Attack: serveFlood(false, keyUpdates(true)),
	},
	{
		Name: "client/tls/tickets", Work: over(orders.TLS, 4),
		About:  "NewSessionTickets of 15 KB, four for each WINDOW_UPDATE (RFC 8446, 4.6.1)",
		Attack: serveFlood(true, tickets),
	},
	{
		Name: "client/tls/renegotiation", Work: over(orders.TLS, 4),
		About:  "a HelloRequest, again and again (RFC 5246, 7.4.1.1)",
		Attack: serving(true, messageAgain("\x00\x00\x00\x00")),
	},
	{
		Name: "client/tls/half-message", Work: over(orders.TLS, 200),
		About:  "60 KB of a message of 64 KB behind the handshake, on 200 connections",
		Attack: serving(true, halfMessage),
	},
	{
		Name: "client/tls/partial-record", Work: over(orders.TLS, 200),
		About:  "the first byte of a record of 16 KB on 200 connections that work",
		Attack: serving(true, records(tlsApplication+"\x03\x03\x40\x10\x00")),
	},
	{
		Name: "client/tls/padding", Work: over(orders.TLS, 4),
		About:  "WINDOW_UPDATEs in records with 16,000 bytes of padding (RFC 8446, 5.4)",
		Attack: serveFlood(true, paddedFrame),
	},
	{
		Name: "client/alts/silent", Work: manyChannels(orders.ALTS),
		About:  "200 connections on which the server never answers",
		Attack: bareSilence,
	},
	{
		Name: "client/alts/garbage", Work: manyChannels(orders.ALTS), Busy: failing,
		// Callers fail at once here, and call again: the published module waits for more from the peer,
		// with its callers, until their deadlines.
		About:  "frames that the handshaker service does not understand",
		Attack: bareAnswer(altsFrame(104, 6, bytesOf(100))),
	},
	{
		Name: "client/alts/partial-record", Work: over(orders.ALTS, 50),
		About:  "the first byte of a record of 1 MiB on 50 connections that work",
		Attack: serving(true, records(altsRecord(1<<20, "x"))),
	},
	{
		Name: "client/alts/oversized-record", Work: over(orders.ALTS, 4),
		About:  "a record that declares 4 GiB, again and again",
		Attack: serving(true, recordsAgain(altsRecord(1<<32-1, bytesOf(1000)))),
	},
	{
		Name: "client/alts/forged-record", Work: over(orders.ALTS, 4),
		About:  "a record that nobody has sealed, again and again",
		Attack: serving(true, recordsAgain(altsRecord(200, bytesOf(200)))),
	},
	{
		Name: "client/alts/tiny-records", Work: over(orders.ALTS, 4),
		About:  "PINGs in records of one byte each",
		Attack: serveFlood(true, tinyRecords),
	},
}

// over is work of channels that wait for an answer each, with that security.
func over(s orders.Security, channels int) *orders.Work {
	return &orders.Work{Method: orders.Deaf, Callers: 1, Channels: channels, Deadline: time.Minute, Security: s}
}

// serving lets clients in as a server that behaves, and runs once on each connection, which
// stays open after.
func serving(reads bool, once script) attack {
	return func(a *attacker.Attacker) error {
		return a.Serve(func(c *attacker.Conn) error {
			if err := greet(c); err != nil {
				return err
			}
			listen(c, reads)
			return once(c)
		})
	}
}

// tickets is NewSessionTickets with a ticket of 15 KB, and something of use.
func tickets(c *attacker.Conn) error {
	ticket := bytesOf(15 << 10)
	body := "\x00\x00\x0e\x10" + "\x00\x00\x00\x00" + "\x01\x00" + string([]byte{byte(len(ticket) >> 8), byte(len(ticket))}) + ticket + "\x00\x00"
	message := "\x04" + string([]byte{0, byte(len(body) >> 8), byte(len(body))}) + body
	for range 4 {
		if err := c.Record(attacker.RecordHandshake, []byte(message), 0); err != nil {
			return err
		}
	}
	return c.Record(attacker.RecordApplication, aFrame, 0)
}
