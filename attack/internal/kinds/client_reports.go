// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

// reportKinds are attacks on a client by servers that report about themselves: their health (gRFC A17),
// and their load (A51).
var reportKinds = []Kind{
	{
		Name: "client/health/flips", Extras: true, Work: watches(healthConfig), Busy: failing, Short: true,
		About:  "servers that are healthy and not, by turns, 65 KB of it for each of 50 channels",
		Attack: serveStreams(begin(repeated(append(health(1), health(2)...)))),
	},
	{
		Name: "client/health/same", Extras: true, Work: watches(healthConfig), Busy: failing,
		About:  "servers that are healthy, and say so again and again",
		Attack: serveStreams(begin(repeated(health(1)))),
	},
	{
		Name: "client/health/ends", Extras: true, Work: watches(healthConfig), Busy: failing,
		About:  "health checks that end at once",
		Attack: serveStreams(trailersOnly(wire.Field{Name: "grpc-status", Value: "14"})),
	},
	{
		Name: "client/health/answers-once", Extras: true, Work: watches(healthConfig), Busy: failing,
		About:  "health checks that end behind an answer, after which the next one begins at once (gRFC A17)",
		Attack: serveStreams(answersOnce(health(1))),
	},
	{
		Name: "client/orca/reports", Extras: true, Work: watches(loadConfig), Busy: failing,
		About:  "reports of load without a pause, 65 KB of them for each of 50 channels",
		Attack: serveStreams(begin(repeated(wire.AppendMessage(nil, 0, load(0))))),
	},
	{
		Name: "client/orca/metrics", Extras: true, Work: watches(loadConfig), Busy: failing,
		About:  "reports with 500 metrics each",
		Attack: serveStreams(begin(repeated(wire.AppendMessage(nil, 0, load(500))))),
	},
	{
		Name: "client/orca/reports-once", Extras: true, Work: watches(loadConfig), Busy: failing,
		About:  "streams of reports that end behind the first",
		Attack: serveStreams(answersOnce(wire.AppendMessage(nil, 0, load(0)))),
	},
	{
		Name: "client/orca/ends", Extras: true, Work: watches(loadConfig), Busy: failing,
		About:  "streams of reports that end at once",
		Attack: serveStreams(trailersOnly(wire.Field{Name: "grpc-status", Value: "14"})),
	},
}

const (
	healthConfig = `{"healthCheckConfig":{"serviceName":"attack"},"loadBalancingConfig":[{"round_robin":{}}]}`
	loadConfig   = `{"loadBalancingConfig":[{"weighted_round_robin":{"enableOobLoadReport":true,"oobReportingPeriod":"0.1s"}}]}`
)

// watches is work of 50 channels whose service config has them watch their servers.
func watches(config string) *orders.Work {
	return &orders.Work{Method: orders.Deaf, Callers: 1, Channels: 50, Deadline: time.Minute, Config: config}
}

// answersOnce ends each stream behind a message.
func answersOnce(m []byte) func(*attacker.Conn, uint32) error {
	return func(c *attacker.Conn, id uint32) error {
		return first(c.Headers(id, 0, wire.Response()), c.Data(id, 0, m), c.Headers(id, wire.EndStream, wire.Trailers()))
	}
}

// health is a HealthCheckResponse, with its prefix.
func health(status uint64) []byte { return wire.AppendMessage(nil, 0, varint(1, status)) }

// load is an OrcaLoadReport with so many named metrics.
func load(named int) []byte {
	b := protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), 0x3fe0_0000_0000_0000)
	for i := range named {
		value := protowire.AppendFixed64(protowire.AppendTag(nil, 2, protowire.Fixed64Type), 0x3fe0_0000_0000_0000)
		b = append(b, nested(5, append(text(1, fmt.Sprint("metric-", i)), value...))...)
	}
	return b
}
