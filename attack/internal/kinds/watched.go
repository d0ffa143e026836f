// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"time"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

// watched is a server with the options of the experimental packages: its connections and RPCs are listed and
// limited, its streams are bounded, and ask to be told of a drain.
var watched = orders.Serve{Watched: true, MaxStreams: 100}

// watchedKinds are attacks on what those packages keep of connections, RPCs and streams.
var watchedKinds = []Kind{
	{
		Name: "server/watched/rapid", Serve: watched,
		About:  "calls that are reset at once, each of which was listed and counted (CVE-2023-44487)",
		Attack: flood(4, true, headersThenReset(slowCall, true)),
	},
	{
		Name: "server/watched/rapid-streams", Serve: watched,
		About:  "streams that are reset at once, each of which asked to be told of a drain",
		Attack: flood(4, true, headersThenReset(wire.Request(orders.Sink), true)),
	},
	{
		Name: "server/watched/reset-errors", Serve: watched,
		About:  "calls that are reset with INTERNAL_ERROR, of which the last is remembered",
		Attack: flood(4, true, headersThen(slowCall, func(c *attacker.Conn, id uint32) error { return c.Reset(id, 2) })),
	},
	{
		Name: "server/watched/malformed", Serve: watched,
		About:  "requests without a path, of which the error of the last is remembered",
		Attack: flood(4, true, request(block(wire.Field{Name: "x", Value: "1"}))),
	},
	{
		Name: "server/watched/reset-unsent", Serve: watched, Own: 4 * 100 * mib, Spate: 4 * 100 * mib, Time: 4 * time.Second,
		About:  "100 replies of 1 MiB that wait for windows of 0, reset, again and again: nothing is kept until MaxEndWait",
		Attack: flood(4, true, afterSettings(resetReplies)),
	},
	{
		Name: "server/watched/small-unsent", Serve: watched, Time: 4 * time.Second,
		About:  "replies of 128 bytes that wait for windows of 0, reset, again and again",
		Attack: flood(4, true, afterSettings(resetSmallReplies)),
	},
	{
		Name: "server/watched/churn", Serve: watched,
		About:  "connections that end with an RST behind the preface, of which the last are remembered",
		Attack: churnOf(8, wire.Preface+settings),
	},
	{
		Name: "server/watched/churn-errors", Serve: watched,
		About:  "connections that break a rule of HTTP/2, of which the last are remembered",
		Attack: churnOf(8, wire.Preface+settings+string(wire.AppendFrame(nil, wire.Frame{Type: wire.RSTStream, Payload: make([]byte, 4)}))),
	},
	{
		Name: "server/watched/streams", Serve: orders.Serve{Watched: true},
		About: "5,000 streams, each of which is listed and asks to be told of a drain",
		Own:   5000 * calling,
		Attack: hold(1, true, func(c *attacker.Conn) error {
			_, err := openBlock(c, 5000, wire.Request(orders.Deaf))
			return err
		}),
	},
	{
		Name: "server/watched/conns", Serve: watched,
		About:  "2,000 connections, each of which is listed and counted",
		Attack: hold(2000, false, func(c *attacker.Conn) error { return nil }),
	},
}

// afterSettings has windows of streams be 0 before each round.
func afterSettings(round script) script {
	return func(c *attacker.Conn) error {
		return first(c.Settings(wire.Setting{ID: wire.InitialWindowSize, Value: 0}), round(c))
	}
}

// resetReplies asks for 100 replies that find no window, and resets the calls when they are made.
func resetReplies(c *attacker.Conn) error {
	return resetAsked(c, 100, wire.Request(orders.Large), nil)
}

// resetSmallReplies is the same with short replies.
func resetSmallReplies(c *attacker.Conn) error {
	return resetAsked(c, 100, wire.Request(orders.Echo), make([]byte, 128))
}

func resetAsked(c *attacker.Conn, n int, block, m []byte) error {
	var ids []uint32
	for range n {
		id := c.Stream()
		if err := first(c.Headers(id, 0, block), c.Data(id, wire.EndStream, wire.AppendMessage(nil, 0, m))); err != nil {
			return err
		}
		ids = append(ids, id)
	}
	if err := c.Flush(); err != nil {
		return err
	}
	c.Attacker().Sleep(5 * time.Millisecond)
	for _, id := range ids {
		if err := c.Reset(id, wire.Cancel); err != nil {
			return err
		}
	}
	return nil
}
