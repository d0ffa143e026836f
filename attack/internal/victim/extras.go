// SPDX-License-Identifier: Apache-2.0

//go:build extras

package victim

import (
	"os"

	"google.golang.org/grpc"
	_ "google.golang.org/grpc/balancer/rls"                // clients may be told to use it
	_ "google.golang.org/grpc/balancer/weightedroundrobin" // the same
	"google.golang.org/grpc/binarylog"
	binlogpb "google.golang.org/grpc/binarylog/grpc_binarylog_v1"
	channelz "google.golang.org/grpc/channelz/service"
	_ "google.golang.org/grpc/health" // service configs may ask for checks
	"google.golang.org/grpc/reflection"
	_ "google.golang.org/grpc/xds" // the same

	"google.golang.org/grpc/attack/internal/orders"
)

// What only some programs have, and what makes a difference to those that have it, such as
// channelz's records, is in a victim of its own.
func init() {
	if os.Getenv("GRPC_BINARY_LOG_FILTER") != "" {
		binarylog.SetSink(nowhere{})
	}
}

func register(server *grpc.Server, e orders.Extra) {
	switch e {
	case orders.Channelz:
		channelz.RegisterChannelzServiceToServer(server)
	case orders.Reflection:
		reflection.Register(server)
	}
}

// nowhere is a sink that drops what is logged.
type nowhere struct{}

func (nowhere) Write(*binlogpb.GrpcLogEntry) error { return nil }

func (nowhere) Close() error { return nil }
