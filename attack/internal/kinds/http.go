// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"strings"

	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

var behindHTTP = orders.Serve{Front: orders.HTTP}

// webCall is what net/http holds for a call that is open: the request, its header as a map,
// its goroutine's buffers; and webConn for a connection.
const (
	webCall = 8 << 10
	webConn = 24 << 10
)

// httpKinds are attacks on a server behind net/http: grpc.Server.ServeHTTP.
var httpKinds = []Kind{
	{
		Name: "server/http/metadata-split", Serve: behindHTTP, Short: true,
		About:  "60 KB of commas in -bin metadata, each of which makes another value, for 50 handlers that ask for it",
		Attack: hold(1, true, openWith(50, wire.Request(orders.Asks, wire.Field{Name: "x-bin", Value: strings.Repeat(",", 60<<10)}))),
	},
	{
		Name: "server/http/metadata-held", Serve: behindHTTP, Own: 200 * webCall,
		About:  "64 KB of metadata a call, on 200 streams that stay open",
		Attack: hold(1, true, openWith(200, wire.Request(orders.Deaf, wire.Field{Name: "x", Value: bytesOf(64 << 10)}))),
	},
	{
		Name: "server/http/one-byte-of-4-mib", Serve: behindHTTP, Own: 200 * (webCall + 4<<10),
		About:  "one byte of a message of 4 MiB, on 200 streams",
		Attack: hold(1, true, bodies(200, orders.Sink, append(wire.AppendPrefix(nil, 0, 4*mib-1), 0))),
	},
	{
		Name: "server/http/tiny-unread", Serve: behindHTTP, Own: 400 * webCall,
		About:  "messages of one byte that handlers do not read, on 400 streams",
		Attack: hold(8, true, bodies(50, orders.Deaf, messages([]byte{0}))),
	},
	{
		Name: "server/http/empty-read", Serve: behindHTTP, Own: 100 * webCall,
		About:  "6 MB of empty messages that handlers read, on 100 streams",
		Attack: hold(2, true, bodies(50, orders.Sink, messages(nil))),
	},
	{
		Name: "server/http/unread", Serve: behindHTTP, Own: 200 * poured,
		About:  "4 connections of 50 streams that want answers without end, nobody reads",
		Attack: pouring(4, 50, 1<<31-1, false, nil),
	},
	{
		Name: "server/http/handed-tiny", Serve: orders.Serve{Front: orders.HTTP, HandedOver: true}, Own: 100 * (webCall + trickled), Busy: trickles / 5, Short: true,
		About:  "100 streams that were handed over and want messages of a byte without end, in windows of 0",
		Attack: trickling(1, 100, 0, true),
	},
	{
		Name: "server/http/rapid-reset", Serve: behindHTTP, Own: 4 * mib,
		About:  "calls that are reset at once (CVE-2023-44487)",
		Attack: flood(4, true, headersThenReset(wire.Request(orders.Slow), false)),
	},
	{
		Name: "server/http/bad-timeout", Serve: behindHTTP,
		About:  "calls with a grpc-timeout that means nothing",
		Attack: flood(4, true, request(badTimeoutCall)),
	},
	{
		Name: "server/http/not-grpc", Serve: behindHTTP,
		About:  "requests that are not gRPC",
		Attack: flood(4, true, request(block(wire.Field{Name: ":path", Value: orders.Echo}, wire.Field{Name: ":authority", Value: "a"}))),
	},
}
