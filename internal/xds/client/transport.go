// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"google.golang.org/protobuf/proto"
)

// Transport is a connection to a control plane. It is safe for concurrent use.
type Transport interface {
	// NewStream opens a bidirectional stream of a method, such as
	// "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources". It
	// waits until there is a connection, and fails if none can be established (A57). The
	// stream ends with ctx.
	NewStream(ctx context.Context, method string) (Stream, error)
	// Close closes the connection and its streams.
	Close()
}

// Stream is a stream of a Transport. One goroutine may call Send while another calls Recv.
type Stream interface {
	Send(m proto.Message) error
	// Recv reads the next message into m.
	Recv(m proto.Message) error
}

const (
	adsMethod = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"
	lrsMethod = "/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats"
)
