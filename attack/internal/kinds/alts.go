// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"encoding/binary"
	"net"
	"time"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
)

var altsServe = orders.Serve{Security: orders.ALTS}

// altsKinds are attacks on a server with ALTS, before its handshake is done. A frame of it
// is a length and a type, four bytes each with the lowest first, and what they announce.
var altsKinds = []Kind{
	{
		Name: "server/alts/silent", Serve: altsServe,
		About:  "1,000 connections on which no handshake begins",
		Attack: bare(1000, func(net.Conn) error { return nil }),
	},
	{
		Name: "server/alts/short-frames", Serve: altsServe,
		About:  "frames whose length does not even cover their type, again and again",
		Attack: churnOf(8, altsFrame(3, 6, "")+altsFrame(0, 6, "")),
	},
	{
		Name: "server/alts/huge-frame", Serve: altsServe,
		About:  "500 connections with a frame that declares 4 GiB, and 4 KB of it",
		Attack: bare(500, func(nc net.Conn) error { return say(nc, altsFrame(1<<32-1, 6, bytesOf(4<<10))) }),
	},
	{
		Name: "server/alts/large-frame", Serve: altsServe,
		About:  "500 connections with a frame that declares 1 MiB, and 4 KB of it",
		Attack: bare(500, func(nc net.Conn) error { return say(nc, altsFrame(1<<20, 6, bytesOf(4<<10))) }),
	},
	{
		Name: "server/alts/wrong-type", Serve: altsServe,
		About:  "frames of a type that does not exist, again and again",
		Attack: churnOf(8, altsFrame(100, 7, bytesOf(96))),
	},
	{
		Name: "server/alts/garbage", Serve: altsServe,
		About:  "text instead of ALTS, again and again",
		Attack: churnOf(8, "GET / HTTP/1.1\r\n\r\n"),
	},
	{
		Name: "server/alts/bad-hello", Serve: altsServe,
		About:  "frames that the handshaker service does not understand, again and again",
		Attack: churnOf(8, altsFrame(104, 6, bytesOf(100))),
	},
	{
		Name: "server/alts/drip", Serve: altsServe, Time: 3 * time.Second,
		About: "a frame byte by byte, one every 150 ms, on 500 connections",
		Attack: func(a *attacker.Attacker) error {
			return a.Bare(500, func(nc net.Conn) error { return drip(a, nc, altsFrame(104, 6, bytesOf(100))) })
		},
	},
}

func altsFrame(length, typ uint32, text string) string {
	b := binary.LittleEndian.AppendUint32(nil, length)
	return string(binary.LittleEndian.AppendUint32(b, typ)) + text
}
