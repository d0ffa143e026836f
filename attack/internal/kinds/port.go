// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"crypto/tls"
	"net"
	"time"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

var (
	port       = orders.Serve{Front: orders.Port}
	securePort = orders.Serve{Front: orders.Port, Security: orders.TLS}
)

// settings is an empty SETTINGS frame, with which a client of HTTP/2 begins.
var settings = string(wire.AppendFrame(nil, wire.Frame{Type: wire.Settings}))

// portKinds are attacks on a port that serves gRPC and HTTP, by what it looks at to tell the
// two apart. What it takes for HTTP is net/http's.
var portKinds = []Kind{
	{
		Name: "server/port/silent", Serve: port, Own: 2000 * webConn, Short: true,
		About:  "2,000 connections that never say a word",
		Attack: bare(2000, func(net.Conn) error { return nil }),
	},
	{
		Name: "server/port/preface", Serve: port, Own: 2000 * webConn,
		About:  "2,000 connections with a preface and nothing behind it",
		Attack: bare(2000, func(nc net.Conn) error { return say(nc, wire.Preface) }),
	},
	{
		Name: "server/port/preface-drip", Serve: port, Own: 1000 * webConn,
		About: "1,000 connections with a byte of the preface every 150 ms",
		Time:  3 * time.Second,
		Attack: func(a *attacker.Attacker) error {
			return a.Bare(1000, func(nc net.Conn) error { return drip(a, nc, wire.Preface+settings) })
		},
	},
	{
		Name: "server/port/no-ack", Serve: port, Own: 1000 * webConn, Short: true,
		About:  "1,000 connections that acknowledge no SETTINGS",
		Attack: bare(1000, func(nc net.Conn) error { return say(nc, wire.Preface+settings) }),
	},
	{
		Name: "server/port/no-ack-flood", Serve: port, Own: 100 * webConn,
		About: "frames of no use on 100 connections that acknowledge no SETTINGS, as many as the port takes",
		Attack: bare(100, func(nc net.Conn) error {
			if err := say(nc, wire.Preface+settings); err != nil {
				return err
			}
			time.Sleep(20 * time.Millisecond) // until it is asked
			junk := wire.AppendFrame(nil, wire.Frame{Type: 99, Payload: make([]byte, 16<<10)})
			for range 18 {
				if err := say(nc, string(junk)); err != nil {
					return err
				}
			}
			return nil
		}),
	},
	{
		// Its 231 KB of fields are too many for us, and are net/http's soon: a HeaderField for each, on
		// both sides, in a slice that grows, and two system calls for each frame: 20 ms for a whole
		// connection. How far they come until the end is chance.
		Name: "server/port/block-drip", Serve: port, Own: 500 * (webConn + 5500*40), Spate: 500 * 2 * 5500 * 40, Busy: 500 * 20 * time.Millisecond,
		About:  "500 connections with 60 KB of a header block that never ends and has no content type, a few bytes a frame",
		Attack: bare(500, func(nc net.Conn) error { return say(nc, wire.Preface+settings+endless([]byte{0x82}, 5500)) }),
	},
	{
		Name: "server/port/block-fields", Serve: port, Own: 1000 * webConn, Short: true,
		About:  "1,000 connections with 1,500 references of one byte in a header block that never ends",
		Attack: bare(1000, func(nc net.Conn) error { return say(nc, wire.Preface+settings+endless(references(1500), 1)) }),
	},
	{
		Name: "server/port/junk", Serve: port,
		About:  "text of no protocol, again and again",
		Attack: churnOf(8, "\x00\xff\x17 nonsense\r\n\r\n"),
	},
	{
		Name: "server/port/half-call", Serve: port, Own: 1000 * webConn,
		About: "1,000 connections with half a HEADERS frame of a call",
		Attack: bare(1000, func(nc net.Conn) error {
			call := wire.AppendFrame(nil, wire.Frame{Type: wire.Headers, Flags: wire.EndHeaders, Stream: 1, Payload: wire.Request(orders.Echo)})
			return say(nc, wire.Preface+settings+string(call[:len(call)/2]))
		}),
	},
	{
		Name: "server/port/amplification", Serve: orders.Serve{Front: orders.Port, MaxStreams: 100},
		About:  "0.4 MB of one-byte references to a table entry of 4 KB, on 100 streams of one connection",
		Attack: hold(1, true, amplify(100)),
	},
	{
		Name: "server/port/tls-silent", Serve: securePort,
		About:  "1,000 connections on which no handshake begins",
		Attack: bare(1000, func(net.Conn) error { return nil }),
	},
	{
		Name: "server/port/tls-alpn-other", Serve: securePort, Own: 4 * mib, Short: true,
		About:  "h2 is agreed on, and HTTP/1.1 follows, again and again",
		Attack: lie("h2", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	},
	{
		Name: "server/port/tls-alpn-none", Serve: securePort, Own: 4 * mib,
		About:  "http/1.1 is agreed on, and HTTP/2 follows, again and again",
		Attack: lie("http/1.1", wire.Preface+settings),
	},
	{
		Name: "server/port/tls-alpn-held", Serve: securePort, Own: 500 * webConn,
		About: "500 connections that agree on h2 and say half a preface",
		Attack: func(a *attacker.Attacker) error {
			return a.Bare(500, func(nc net.Conn) error { return sayOver(a, nc, "h2", wire.Preface[:10]) })
		},
	},
}

// endless is a header block in n frames with a piece each, and more to come.
func endless(piece []byte, n int) string {
	b := wire.AppendFrame(nil, wire.Frame{Type: wire.Headers, Stream: 1, Payload: piece})
	for range n - 1 {
		b = wire.AppendFrame(b, wire.Frame{Type: wire.Continuation, Stream: 1, Payload: piece})
	}
	return string(b)
}

// references is n of them to an entry of the static table.
func references(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = 0x82
	}
	return b
}

// lie agrees on a protocol, says something else, and begins again.
func lie(protocol, text string) attack {
	return func(a *attacker.Attacker) error {
		return a.Bare(4, func(nc net.Conn) error {
			if err := sayOver(a, nc, protocol, text); err != nil {
				return err
			}
			_, _ = nc.Read(make([]byte, 1)) // until it is heard
			return errAgain
		})
	}
}

// sayOver says text over TLS, with a protocol agreed on.
func sayOver(a *attacker.Attacker, nc net.Conn, protocol, text string) error {
	tc := tls.Client(nc, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}})
	if err := tc.HandshakeContext(a.Context()); err != nil {
		return err
	}
	return say(tc, text)
}
