// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
)

// oneCase is a call of the tool: its flags before the address, its arguments after it, what its
// output has to contain, and the status that it has to end with.
type oneCase struct {
	name        string
	flags, args []string
	want        []string
	status      codes.Code
}

// exitBase is added to a status that is not OK in the code that the tool exits with.
const exitBase = 64

func (c oneCase) judge(out string, exit int) (problem string) {
	want := 0
	if c.status != codes.OK {
		want = exitBase + int(c.status)
	}
	if exit != want {
		return fmt.Sprintf("exits with %d, want %d", exit, want)
	}
	for _, text := range c.want {
		if !strings.Contains(out, text) {
			return fmt.Sprintf("does not say %q", text)
		}
	}
	return ""
}

var cases = []oneCase{
	{
		name: "list services",
		args: []string{"list"},
		want: []string{
			"grpc.channelz.v1.Channelz", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
			"grpc.reflection.v1alpha.ServerReflection", "grpc.testing.TestService",
		},
	},
	{
		name: "list methods",
		args: []string{"list", "grpc.health.v1.Health"},
		want: []string{"grpc.health.v1.Health.Check\n", "grpc.health.v1.Health.List\n", "grpc.health.v1.Health.Watch\n"},
	},
	{
		name: "describe service",
		args: []string{"describe", "grpc.testing.TestService"},
		want: []string{"rpc FullDuplexCall ( stream .grpc.testing.StreamingOutputCallRequest ) returns ( stream .grpc.testing.StreamingOutputCallResponse );"},
	},
	{
		name: "describe method",
		args: []string{"describe", "grpc.testing.TestService.UnaryCall"},
		want: []string{"rpc UnaryCall ( .grpc.testing.SimpleRequest ) returns ( .grpc.testing.SimpleResponse );"},
	},
	{
		name: "describe message of an imported file",
		args: []string{"describe", "grpc.testing.SimpleRequest"},
		want: []string{"message SimpleRequest {", ".grpc.testing.Payload payload = 3;"},
	},
	{
		name: "describe message with well-known types",
		args: []string{"describe", "grpc.channelz.v1.SocketData"},
		want: []string{".google.protobuf.Timestamp last_message_sent_timestamp = 9;", ".google.protobuf.Int64Value"},
	},
	{
		name: "describe enum",
		args: []string{"describe", "grpc.health.v1.HealthCheckResponse.ServingStatus"},
		want: []string{"SERVICE_UNKNOWN = 3;"},
	},
	{
		name:  "unary call",
		flags: []string{"-d", `{"response_size": 3}`},
		args:  []string{"grpc.testing.TestService/UnaryCall"},
		want:  []string{`"body": "AAAA"`},
	},
	{
		name:  "health check",
		flags: []string{"-d", `{"service": "grpc.testing.TestService"}`},
		args:  []string{"grpc.health.v1.Health/Check"},
		want:  []string{`"status": "NOT_SERVING"`},
	},
	{
		name: "health list",
		args: []string{"grpc.health.v1.Health/List"},
		want: []string{`"grpc.testing.TestService": {`, `"status": "SERVING"`},
	},
	{
		name:   "health watch",
		flags:  []string{"-max-time", "0.5", "-d", `{"service": "nobody"}`},
		args:   []string{"grpc.health.v1.Health/Watch"},
		want:   []string{`"status": "SERVICE_UNKNOWN"`},
		status: codes.DeadlineExceeded,
	},
	{
		name:   "unknown health",
		flags:  []string{"-d", `{"service": "nobody"}`},
		args:   []string{"grpc.health.v1.Health/Check"},
		want:   []string{"NotFound", "unknown service"},
		status: codes.NotFound,
	},
	{
		name:  "server streaming",
		flags: []string{"-d", `{"response_parameters": [{"size": 3}, {"size": 6}]}`},
		args:  []string{"grpc.testing.TestService/StreamingOutputCall"},
		want:  []string{`"body": "AAAA"`, `"body": "AAAAAAAA"`},
	},
	{
		name:  "client streaming",
		flags: []string{"-d", `{"payload": {"body": "AAAA"}} {"payload": {"body": "AAAAAAAA"}}`},
		args:  []string{"grpc.testing.TestService/StreamingInputCall"},
		want:  []string{`"aggregatedPayloadSize": 9`},
	},
	{
		name:  "both streaming",
		flags: []string{"-d", `{"response_parameters": [{"size": 3}]} {"response_parameters": [{"size": 6}]}`},
		args:  []string{"grpc.testing.TestService/FullDuplexCall"},
		want:  []string{`"body": "AAAA"`, `"body": "AAAAAAAA"`},
	},
	{
		name:  "metadata",
		flags: []string{"-v", "-H", "x-grpc-test-echo-initial: hello", "-d", "{}"},
		args:  []string{"grpc.testing.TestService/UnaryCall"},
		want:  []string{"Response headers received:", "x-grpc-test-echo-initial: hello"},
	},
	{
		name:   "status",
		flags:  []string{"-d", `{"response_status": {"code": 10, "message": "on request"}}`},
		args:   []string{"grpc.testing.TestService/UnaryCall"},
		want:   []string{"Aborted", "on request"},
		status: codes.Aborted,
	},
	{
		name:   "unimplemented method",
		args:   []string{"grpc.testing.TestService/UnimplementedCall"},
		want:   []string{"Unimplemented"},
		status: codes.Unimplemented,
	},
	{
		name: "channelz",
		args: []string{"grpc.channelz.v1.Channelz/GetServers"},
		want: []string{`"callsStarted"`, `"listenSocket"`, `"end": true`},
	},
}
