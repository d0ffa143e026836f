// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"net"
	"time"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

// clientConnectionKinds are attacks on a client by what accepts its connections.
var clientConnectionKinds = []Kind{
	{
		Name: "client/conn/silent", Work: manyChannels(orders.Plain), Short: true,
		About:  "200 connections that are accepted, and nothing more",
		Attack: accept(func(*attacker.Attacker, net.Conn) error { return nil }),
	},
	{
		Name: "client/conn/slow-settings", Work: manyChannels(orders.Plain), Time: 3 * time.Second,
		About: "SETTINGS byte by byte, one every 150 ms, on 200 connections",
		Attack: accept(func(a *attacker.Attacker, nc net.Conn) error {
			return drip(a, nc, "\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00")
		}),
	},
	{
		Name: "client/conn/close", Work: manyChannels(orders.Plain), Busy: failing,
		About:  "connections that are closed at once",
		Attack: accept(func(*attacker.Attacker, net.Conn) error { return errAgain }),
	},
	{
		Name: "client/conn/reset", Work: manyChannels(orders.Plain), Busy: failing,
		About: "connections that are reset at once",
		Attack: accept(func(_ *attacker.Attacker, nc net.Conn) error {
			attacker.Reset(nc)
			return nil
		}),
	},
	{
		Name: "client/conn/http1", Work: manyChannels(orders.Plain),
		About:  "an answer in HTTP/1.1",
		Attack: accept(func(_ *attacker.Attacker, nc net.Conn) error { return say(nc, "HTTP/1.1 400 Bad Request\r\n\r\n") }),
	},
	{
		Name: "client/conn/garbage", Work: manyChannels(orders.Plain),
		About:  "64 KB of text",
		Attack: accept(func(_ *attacker.Attacker, nc net.Conn) error { return say(nc, bytesOf(64<<10)) }),
	},
	{
		Name: "client/conn/partial-frame", Work: manyChannels(orders.Plain),
		About: "SETTINGS, and then all but one byte of a DATA frame of 16 KB, on 200 connections",
		Attack: func(a *attacker.Attacker) error {
			return a.Serve(func(c *attacker.Conn) error {
				return c.EachStream(func(id uint32) error {
					if err := c.Headers(id, 0, wire.Response()); err != nil {
						return err
					}
					return c.Raw(append(wire.AppendHeader(nil, 16<<10, wire.Frame{Type: wire.Data, Stream: id}), make([]byte, 16<<10-1)...))
				})
			})
		},
	},
	{
		Name: "client/tls/silent", Work: manyChannels(orders.TLS),
		About:  "200 connections on which the server never answers the ClientHello",
		Attack: accept(func(*attacker.Attacker, net.Conn) error { return nil }),
	},
	{
		Name: "client/tls/hello-declared", Work: manyChannels(orders.TLS),
		About: "200 connections with the first bytes of a ServerHello of 64 KB",
		Attack: accept(func(_ *attacker.Attacker, nc net.Conn) error {
			return say(nc, tlsHandshake+"\x03\x03\x40\x00\x02\x00\xff\x00")
		}),
	},
	{
		Name: "client/tls/drip", Work: manyChannels(orders.TLS), Time: 3 * time.Second,
		About: "a ServerHello byte by byte, one every 150 ms, on 200 connections",
		Attack: accept(func(a *attacker.Attacker, nc net.Conn) error {
			return drip(a, nc, tlsHandshake+"\x03\x03\x40\x00\x02\x00\x3f\xf0"+bytesOf(100))
		}),
	},
	{
		Name: "client/tls/garbage", Work: manyChannels(orders.TLS),
		About:  "text instead of TLS",
		Attack: accept(func(_ *attacker.Attacker, nc net.Conn) error { return say(nc, "HTTP/1.1 400 Bad Request\r\n\r\n") }),
	},
}

// failing is how long callers take that fail at once and begin again after 5 ms, over some hundreds of
// channels; how many calls that are is chance.
const failing = time.Second

// manyChannels is work of 200 channels with a caller each.
func manyChannels(s orders.Security) *orders.Work {
	return &orders.Work{Method: orders.Echo, Callers: 1, Channels: 200, Deadline: 2 * time.Second, Security: s}
}

func accept(do func(*attacker.Attacker, net.Conn) error) attack {
	return func(a *attacker.Attacker) error {
		return a.Accept(func(nc net.Conn) error { return do(a, nc) })
	}
}
