// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"time"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

// trickled is what a stream holds that sends messages of a byte to nobody: as many as it takes to wait.
const trickled = 256 << 10

// trickles is how long a program takes to send a thousand streams as many messages of a byte as there is
// room for, and some more where the windows let them through, on the slowest machine that these attacks ran on.
const trickles = 7 * time.Second

// replyKinds are attacks on a server whose answers nobody takes, of a few bytes each.
var replyKinds = []Kind{
	{
		Name: "server/replies/tiny-zero", Own: 200 * trickled, Busy: trickles / 5, Short: true,
		About:  "200 streams that want messages of a byte without end, in windows of 0",
		Attack: trickling(1, 200, 0, true),
	},
	{
		Name: "server/replies/tiny-unread", Own: 400 * trickled, Busy: trickles / 2,
		About:  "4 connections of 100 such streams, windows of 2^31-1, nobody reads",
		Attack: trickling(4, 100, 1<<31-1, false),
	},
	{
		Name: "server/replies/tiny-tls", Serve: secured, Own: 200 * trickled, Busy: trickles / 5,
		About:  "200 such streams in windows of 0 over TLS",
		Attack: trickling(1, 200, 0, true),
	},
	{
		Name: "server/replies/tiny-alts", Serve: altsServe, Own: 200 * trickled, Busy: trickles / 5,
		About:  "200 such streams in windows of 0 over ALTS",
		Attack: trickling(1, 200, 0, true),
	},
	{
		Name: "server/replies/tiny-port", Serve: port, Own: 200 * trickled, Busy: trickles / 5,
		About:  "200 such streams in windows of 0, behind a port",
		Attack: trickling(1, 200, 0, true),
	},
	{
		Name: "server/replies/tiny-wrapped", Serve: wrappedServe, Own: 200 * trickled, Busy: trickles / 5,
		About:  "200 such streams on wrapped connections, nobody reads",
		Attack: trickling(4, 50, 1<<31-1, false),
	},
	{
		Name: "server/replies/tiny-handed-over", Serve: handedServe, Own: 200 * trickled, Busy: trickles / 5, Short: true,
		About:  "200 such streams, whose handlers have handed them over, in windows of 0",
		Attack: trickling(1, 200, 0, true),
	},
	{
		Name: "server/replies/tiny-dribble", Own: 100 * trickled, Busy: trickles / 2,
		About: "100 such streams, whose windows grow by a message at a time",
		Attack: func(a *attacker.Attacker) error {
			return a.Conns(1, func(c *attacker.Conn) error {
				if err := trickle(c, 100, 0, true); err != nil {
					return err
				}
				return repeat(c, func(c *attacker.Conn) error {
					for i := range uint32(100) {
						if err := c.Window(2*i+1, 8); err != nil {
							return err
						}
					}
					return first(c.Window(0, 800), c.Flush())
				})
			})
		},
	},
	{
		Name: "client/replies/tiny-zero", Work: streams(orders.Trickle, 200), Own: 200 * trickled, Busy: trickles / 5, Short: true,
		About:  "200 streams that send messages of a byte without end, in windows of 0",
		Attack: clientWindow(0, nil),
	},
	{
		Name: "client/replies/tiny-handed-over", Work: handedOver(orders.Trickle, 200), Own: 200 * trickled, Busy: trickles / 5,
		About:  "200 such streams without goroutines (package streams)",
		Attack: clientWindow(0, nil),
	},
	{
		Name: "client/replies/tiny-wrapped", Work: &orders.Work{Method: orders.Trickle, Callers: 50, Channels: 4, Deadline: tooLong, Wrapped: true},
		Own: 200 * trickled, Busy: trickles / 5, About: "200 such streams on wrapped connections, in windows of 0",
		Attack: clientWindow(0, nil),
	},
	{
		Name: "client/retry/tiny-messages", Work: retried(orders.Trickle, 50), Own: 50 * 512 << 10, Short: true,
		About:  "50 streams of messages of a byte, which are kept for another attempt; they are taken, and never answered (gRFC A6)",
		Attack: wideOpen(nil),
	},
	{
		Name: "client/retry/large-messages", Work: retried(orders.Sink, 50), Own: 50 * (512<<10 + poured),
		About:  "the same with messages of 64 KiB",
		Attack: wideOpen(nil),
	},
	{
		Name: "client/retry/refused", Work: retried(orders.Echo, 20),
		About:  "every attempt is refused (gRFC A6)",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error { return c.Reset(id, wire.RefusedStream) }),
	},
	{
		Name: "client/retry/unavailable", Work: retried(orders.Echo, 20),
		About:  "every attempt ends with UNAVAILABLE and a push-back of 0 ms, behind headers of 4 KB of unknown fields",
		Attack: serveStreams(trailersOnly(wire.Field{Name: "grpc-status", Value: "14"}, wire.Field{Name: "grpc-retry-pushback-ms", Value: "0"}, wire.Field{Name: "x", Value: bytesOf(4 << 10)})),
	},
	{
		Name: "client/retry/pushback-forms", Work: retried(orders.Echo, 20),
		About:  "push-backs that mean nothing, 50 in one answer",
		Attack: serveStreams(headersOf(wire.EndStream, appendMany(wire.Response(wire.Field{Name: "grpc-status", Value: "14"}), 50, "grpc-retry-pushback-ms", "99999999999999999999"))),
	},
	{
		Name: "client/waiting/none", Work: &orders.Work{Method: orders.Echo, Callers: 5000, Deadline: tooLong / 60}, Own: 5000 * 2 * calling, Short: true,
		About:  "5,000 callers wait for a stream, MAX_CONCURRENT_STREAMS is 0, and give up after a second, again and again",
		Time:   3 * time.Second,
		Attack: maxStreams(0, nil),
	},
	{
		Name: "client/waiting/one", Work: &orders.Work{Method: orders.Echo, Callers: 5000, Deadline: tooLong / 60}, Own: 5000 * 2 * calling,
		About:  "the same with one stream, which is reset as soon as it is there",
		Time:   3 * time.Second,
		Attack: maxStreams(1, func(c *attacker.Conn, id uint32) error { return c.Reset(id, wire.Cancel) }),
	},
	{
		Name: "client/waiting/flap", Work: &orders.Work{Method: orders.Echo, Callers: 2000, Deadline: tooLong / 60}, Own: 2000 * 2 * calling,
		About:  "2,000 callers wait, while one SETTINGS frame after another has MAX_CONCURRENT_STREAMS change 2,730 times",
		Attack: serveFlood(true, frame(wire.Settings, 0, 0, alternating(wire.MaxConcurrentStreams, 0, 1))),
	},
}

var (
	wrappedServe = orders.Serve{Wrapped: true}
	handedServe  = orders.Serve{HandedOver: true}
)

// handedOver is work of callers whose streams have no goroutines.
func handedOver(method string, n int) *orders.Work {
	return &orders.Work{Method: method, Callers: n, Deadline: tooLong, HandedOver: true}
}

// retried is work of callers whose calls may be attempted five times.
func retried(method string, n int) *orders.Work {
	return &orders.Work{Method: method, Callers: n, Deadline: tooLong / 6, Config: `{"methodConfig":[{"name":[{}],
		"retryPolicy":{"maxAttempts":5,"initialBackoff":"0.01s","maxBackoff":"0.05s","backoffMultiplier":1,
		"retryableStatusCodes":["UNAVAILABLE","CANCELLED"]}}]}`}
}

// trickling opens streams on n connections that the server sends tiny messages, in windows of a size.
func trickling(n, streams int, size uint32, reads bool) attack {
	return func(a *attacker.Attacker) error {
		return a.Conns(n, func(c *attacker.Conn) error {
			if err := trickle(c, streams, size, reads); err != nil {
				return err
			}
			a.Sleep(a.Left() / 2)
			return nil
		})
	}
}

func trickle(c *attacker.Conn, streams int, size uint32, reads bool) error {
	listen(c, reads)
	if err := c.Settings(wire.Setting{ID: wire.InitialWindowSize, Value: size}); err != nil {
		return err
	}
	if size > window {
		if err := c.Window(0, size-window); err != nil {
			return err
		}
	}
	_, err := open(c, streams, orders.Trickle)
	return err
}

// wideOpen takes all that clients send, and does something to each stream.
func wideOpen(do func(*attacker.Conn, uint32) error) attack {
	return func(a *attacker.Attacker) error {
		return a.Serve(func(c *attacker.Conn) error {
			err := first(c.Settings(wire.Setting{ID: wire.InitialWindowSize, Value: 1<<31 - 1}), c.Window(0, 1<<31-1-window))
			if err != nil {
				return err
			}
			return c.EachStream(func(id uint32) error {
				if do == nil {
					return nil
				}
				return do(c, id)
			})
		})
	}
}

// maxStreams lets clients open n streams at a time, and does something to each.
func maxStreams(n uint32, do func(*attacker.Conn, uint32) error) attack {
	return func(a *attacker.Attacker) error {
		return a.Serve(func(c *attacker.Conn) error {
			if err := c.Settings(wire.Setting{ID: wire.MaxConcurrentStreams, Value: n}); err != nil {
				return err
			}
			if err := c.Flush(); err != nil {
				return err
			}
			return c.EachFrame(func(f wire.Frame) error {
				if f.Type != wire.Headers || do == nil {
					return nil
				}
				return first(do(c, f.Stream), c.Flush())
			})
		})
	}
}

// alternating is the payload of a SETTINGS frame that has a setting change as often as it can.
func alternating(id uint16, low, high uint32) []byte {
	var b []byte
	for range 1365 {
		b = wire.AppendSettings(b, wire.Setting{ID: id, Value: low}, wire.Setting{ID: id, Value: high})
	}
	return b
}
