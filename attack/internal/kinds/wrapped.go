// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"net"
	"time"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

// wrappedIdle is what a wrapper may keep of a connection: nobody but its own Read can wait for input.
const wrappedIdle = 16 << 10

// wrappedKinds are attacks on servers and clients whose connections are wrappers', and on servers whose
// handlers hand their streams over.
var wrappedKinds = []Kind{
	{
		Name: "server/wrapped/idle", Serve: wrappedServe, Own: 1000 * wrappedIdle, Short: true,
		About:  "1,000 connections with a proper handshake and nothing behind it",
		Attack: hold(1000, true, func(*attacker.Conn) error { return nil }),
	},
	{
		Name: "server/wrapped/silent", Serve: wrappedServe, Own: 1000 * wrappedIdle,
		About:  "1,000 connections that never say a word",
		Attack: bare(1000, func(net.Conn) error { return nil }),
	},
	{
		Name: "server/wrapped/ping-flood-unread", Serve: wrappedServe,
		About:  "PINGs whose answers nobody reads (CVE-2019-9512)",
		Attack: flood(4, false, frame(wire.Ping, 0, 0, eightBytes)),
	},
	{
		Name: "server/wrapped/drip", Serve: wrappedServe, Own: 500 * wrappedIdle,
		About: "frames byte by byte, one every 150 ms, on 500 connections",
		Time:  3 * time.Second,
		Attack: func(a *attacker.Attacker) error {
			return a.Conns(500, func(c *attacker.Conn) error {
				c.Drain(nil)
				ping := wire.AppendFrame(nil, wire.Frame{Type: wire.Ping, Payload: eightBytes})
				for i := 0; a.Sleep(150 * time.Millisecond); i++ {
					if err := first(c.Raw(ping[i%len(ping):][:1]), c.Flush()); err != nil {
						return err
					}
				}
				return nil
			})
		},
	},
	{
		Name: "server/wrapped/rapid-reset", Serve: orders.Serve{Wrapped: true, MaxStreams: 100},
		About:  "calls that are reset at once (CVE-2023-44487)",
		Attack: flood(4, true, headersThenReset(slowCall, true)),
	},
	{
		Name: "server/wrapped/unread", Serve: wrappedServe, Own: 200 * poured,
		About:  "4 connections of 50 streams that want answers without end, nobody reads",
		Attack: pouring(4, 50, 1<<31-1, false, nil),
	},
	{
		Name: "server/wrapped/tiny-frames", Serve: wrappedServe,
		About:  "messages of 100 bytes that handlers do not read, one byte a frame (CVE-2026-84304)",
		Attack: hold(8, true, tinyFrames(50, []byte{0})),
	},
	{
		Name: "client/wrapped/ping-flood-unread", Work: &orders.Work{Method: orders.Echo, Callers: 10, Deadline: 2 * time.Second, Wrapped: true},
		About:  "PINGs whose answers nobody reads (CVE-2019-9512)",
		Attack: serveFlood(false, frame(wire.Ping, 0, 0, eightBytes)),
	},
	{
		Name: "client/wrapped/one-byte-frames", Work: &orders.Work{Method: orders.Pour, Callers: 10, Deadline: tooLong, Wrapped: true},
		About:  "messages of one byte, as many as windows take",
		Attack: serveStreams(begin(messages([]byte{0}))),
	},
	{
		Name: "server/handed/idle-streams", Serve: handedServe,
		About:  "5,000 streams that were handed over, nothing behind",
		Attack: hold(1, true, bodies(5000, orders.Sink, nil)),
	},
	{
		Name: "server/handed/tiny", Serve: handedServe,
		About:  "messages of one byte, as many as windows take, on 400 streams that were handed over",
		Attack: hold(8, true, bodies(50, orders.Sink, messages([]byte{0}))),
	},
	{
		Name: "server/handed/empty-read", Serve: handedServe,
		About:  "6 MB of empty messages that are read, on 100 streams that were handed over",
		Attack: hold(2, true, bodies(50, orders.Sink, messages(nil))),
	},
	{
		Name: "server/handed/one-byte-of-4-mib", Serve: handedServe,
		About:  "one byte of a message of 4 MiB, on 5,000 streams that were handed over",
		Attack: hold(1, true, bodies(5000, orders.Sink, append(wire.AppendPrefix(nil, 0, 4*mib-1), 0))),
	},
	{
		Name: "server/handed/unread", Serve: handedServe, Own: 1000 * poured,
		About:  "20 connections of 50 streams that were handed over and want answers without end, nobody reads",
		Attack: pouring(20, 50, 1<<31-1, false, nil),
	},
	{
		Name: "server/handed/rapid-reset", Serve: orders.Serve{HandedOver: true, MaxStreams: 100}, Short: true,
		About:  "streams that are handed over and reset at once (CVE-2023-44487)",
		Attack: flood(4, true, headersThenReset(wire.Request(orders.Sink), true)),
	},
	{
		Name: "server/tls/tiny-unread", Serve: secured,
		About:  "26 MB of messages of one byte that handlers do not read, on 400 streams",
		Attack: hold(8, true, bodies(50, orders.Deaf, messages([]byte{0}))),
	},
	{
		Name: "server/tls/rapid-reset", Serve: orders.Serve{Security: orders.TLS, MaxStreams: 100},
		About:  "calls that are reset at once (CVE-2023-44487)",
		Attack: flood(4, true, headersThenReset(slowCall, true)),
	},
	{
		Name: "server/alts/tiny-unread", Serve: altsServe,
		About:  "26 MB of messages of one byte that handlers do not read, on 400 streams",
		Attack: hold(8, true, bodies(50, orders.Deaf, messages([]byte{0}))),
	},
	{
		Name: "server/alts/frame-a-record", Serve: altsServe,
		About: "empty DATA, a record each, on an open stream",
		Attack: onStreams(4, 1, orders.Sink, func(c *attacker.Conn) error {
			return first(c.Frame(wire.Data, 0, 1, nil), c.Flush())
		}),
	},
	{
		Name: "client/alts/tiny", Work: &orders.Work{Method: orders.Pour, Callers: 10, Deadline: tooLong, Security: orders.ALTS},
		About:  "messages of one byte, as many as windows take",
		Attack: serveStreams(begin(messages([]byte{0}))),
	},
}
