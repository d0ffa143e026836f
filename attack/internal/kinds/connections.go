// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"net"
	"time"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

// connectionKinds are attacks on a server with connections, before there is HTTP/2 or
// without it.
var connectionKinds = []Kind{
	{
		Name: "server/conn/silent", Short: true,
		About:  "2,000 connections that never say a word",
		Attack: bare(2000, func(net.Conn) error { return nil }),
	},
	{
		Name:   "server/conn/half-preface",
		About:  "2,000 connections with half a preface",
		Attack: bare(2000, func(nc net.Conn) error { return say(nc, wire.Preface[:12]) }),
	},
	{
		Name:  "server/conn/slow-preface",
		About: "1,000 connections with a byte of the preface every 150 ms",
		Time:  3 * time.Second,
		Attack: func(a *attacker.Attacker) error {
			return a.Bare(1000, func(nc net.Conn) error { return drip(a, nc, wire.Preface) })
		},
	},
	{
		Name:   "server/conn/no-settings",
		About:  "2,000 connections with a preface and no SETTINGS behind it (RFC 9113, 3.4)",
		Attack: bare(2000, func(nc net.Conn) error { return say(nc, wire.Preface) }),
	},
	{
		Name:   "server/conn/wrong-preface",
		About:  "HTTP/1.1 instead of a preface, again and again",
		Attack: churnOf(8, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"+wire.Preface),
	},
	{
		Name:   "server/conn/churn",
		About:  "connections that are opened and closed",
		Attack: churnOf(8, ""),
	},
	{
		Name:   "server/conn/churn-reset",
		About:  "connections that end with an RST behind the preface",
		Attack: churnOf(8, wire.Preface+"\x00\x00\x00\x04\x00\x00\x00\x00\x00"),
	},
	{
		Name:  "server/conn/half-closed",
		About: "1,000 connections with a call of which the client closed its side",
		Attack: hold(1000, false, func(c *attacker.Conn) error {
			if _, err := c.Call(orders.Deaf); err != nil {
				return err
			}
			if err := c.Flush(); err != nil {
				return err
			}
			return c.CloseWrite()
		}),
	},
	{
		Name:   "server/conn/idle",
		About:  "2,000 connections with a proper handshake and nothing behind it",
		Attack: hold(2000, true, func(*attacker.Conn) error { return nil }),
	},
	{
		Name:   "server/conn/idle-streams",
		About:  "20 streams on each of 500 connections, nothing behind",
		Attack: hold(500, true, bodies(20, orders.Sink, nil)),
	},
	{
		Name:  "server/conn/linger",
		About: "a call every 150 ms on 1,000 connections: just when they are about to park",
		Time:  3 * time.Second,
		Attack: func(a *attacker.Attacker) error {
			return a.Conns(1000, func(c *attacker.Conn) error {
				c.Drain(nil)
				return every(c, 150*time.Millisecond, func(c *attacker.Conn) error {
					_, err := c.Call(orders.Echo)
					return err
				})
			})
		},
	},
	{
		Name:  "server/conn/linger-sweep",
		About: "calls on 500 connections at intervals from 90 to 210 ms",
		Time:  3 * time.Second,
		Attack: func(a *attacker.Attacker) error {
			a.Each(500, func(i int) {
				_ = a.Conns(1, func(c *attacker.Conn) error {
					c.Drain(nil)
					return every(c, 90*time.Millisecond+time.Duration(i)*240*time.Microsecond, func(c *attacker.Conn) error {
						_, err := c.Call(orders.Echo)
						return err
					})
				})
			})
			return nil
		},
	},
}

func say(nc net.Conn, text string) error {
	_, err := nc.Write([]byte(text))
	return err
}

// bare opens n connections, does once on each, and leaves them open.
func bare(n int, once func(net.Conn) error) attack {
	return func(a *attacker.Attacker) error { return a.Bare(n, once) }
}

// drip sends text byte by byte.
func drip(a *attacker.Attacker, nc net.Conn, text string) error {
	for i := 0; i < len(text) && a.Sleep(150*time.Millisecond); i++ {
		if err := say(nc, text[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// churnOf opens connections, says something, and cuts them off, n at a time.
func churnOf(n int, text string) attack {
	return func(a *attacker.Attacker) error {
		a.Each(n, func(int) {
			for !a.Over() {
				nc, err := a.Dial()
				if err != nil {
					continue
				}
				_ = say(nc, text) // it may have been cut off by the other side
				attacker.Reset(nc)
			}
		})
		return nil
	}
}
