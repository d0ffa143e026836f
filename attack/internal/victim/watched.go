// SPDX-License-Identifier: Apache-2.0

//go:build !published

package victim

import (
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/experimental/drain"
	"google.golang.org/grpc/experimental/flowcontrol"
	"google.golang.org/grpc/experimental/limits"
	"google.golang.org/grpc/experimental/servercontrol"
)

// watchedOptions are those of the experimental packages that keep something of each connection, RPC or
// stream.
func watchedOptions() []grpc.ServerOption {
	limiter := limits.New(limits.Limits{Connections: 3000, ConnectionsPerAddress: 3000, RPCs: 10_000})
	return []grpc.ServerOption{
		new(servercontrol.Control).Option(), limiter.Option(),
		flowcontrol.MaxSendWait(10 * time.Second), flowcontrol.MaxEndWait(10 * time.Second),
		experimental.RecoverPanics(nil), experimental.TCPProbes(net.KeepAliveConfig{Enable: true}),
		grpc.ChainStreamInterceptor(func(srv any, st grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) error {
			drain.AfterFunc(st.Context(), func() {})
			return h(srv, st)
		}),
	}
}
