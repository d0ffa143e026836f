// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"net"
	"time"

	"google.golang.org/grpc/attack/internal/attacker"
)

// altsRecordKinds are attacks on a server with the records of ALTS, behind a proper handshake.
// A record is a frame of the handshake's format whose payload is sealed.
var altsRecordKinds = []Kind{
	{
		Name: "server/alts/handshakes", Serve: altsServe,
		About:  "handshakes, again and again",
		Attack: func(a *attacker.Attacker) error { return a.Conns(4, func(*attacker.Conn) error { return errAgain }) },
	},
	{
		Name: "server/alts/idle", Serve: altsServe,
		About:  "200 connections with proper handshakes and nothing behind",
		Attack: hold(200, true, func(*attacker.Conn) error { return nil }),
	},
	{
		Name: "server/alts/partial-record", Serve: altsServe, Short: true,
		About:  "the first byte of a record of 1 MiB on 200 connections that work",
		Attack: hold(200, false, records(altsRecord(1<<20, "x"))),
	},
	{
		Name: "server/alts/almost-record", Serve: altsServe,
		About:  "all but a byte of a record of 1 MiB on 50 connections that work",
		Attack: hold(50, false, records(altsRecord(1<<20, bytesOf(1<<20-5)))),
	},
	{
		Name: "server/alts/oversized-record", Serve: altsServe,
		About:  "a record that declares 4 GiB, again and again",
		Attack: flood(4, true, recordsAgain(altsRecord(1<<32-1, bytesOf(1000)))),
	},
	{
		Name: "server/alts/forged-record", Serve: altsServe,
		About:  "a record that nobody has sealed, again and again",
		Attack: flood(4, true, recordsAgain(altsRecord(200, bytesOf(196)))),
	},
	{
		Name: "server/alts/tiny-records", Serve: altsServe,
		About:  "PINGs in records of one byte each",
		Attack: flood(4, true, tinyRecords),
	},
	{
		Name: "server/alts/record-drip", Serve: altsServe, Time: 3 * time.Second,
		About: "a record of 1 MiB byte by byte, one every 150 ms, on 100 connections",
		Attack: hold(100, false, func(c *attacker.Conn) error {
			if err := records(altsRecord(1<<20, ""))(c); err != nil {
				return err
			}
			for c.Attacker().Sleep(150 * time.Millisecond) {
				if err := c.Below([]byte{0}); err != nil {
					return err
				}
			}
			return nil
		}),
	},
	{
		Name: "server/alts/unread", Own: 200 * poured, Serve: altsServe,
		About:  "4 connections of 50 streams that want answers without end, nobody reads",
		Attack: pouring(4, 50, 1<<31-1, false, nil),
	},
}

// altsRecord is the beginning of a record whose length says n.
func altsRecord(n uint32, text string) string { return altsFrame(n, 6, text) }

// bareSilence accepts connections, and no more.
var bareSilence = accept(func(*attacker.Attacker, net.Conn) error { return nil })

// bareAnswer says a text on each connection.
func bareAnswer(text string) attack {
	return accept(func(_ *attacker.Attacker, nc net.Conn) error { return say(nc, text) })
}
