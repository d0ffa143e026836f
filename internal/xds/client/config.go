// SPDX-License-Identifier: Apache-2.0

package client

import (
	"time"

	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/xds/bootstrap"
)

// Config is the configuration of a Client.
type Config struct {
	// Bootstrap says which control planes there are.
	Bootstrap *bootstrap.Config
	// Dial connects to a control plane. It must not wait until the connection is established. An
	// error means that the configuration is wrong: the control plane then counts as unreachable, and
	// is not dialed again while it is in use.
	Dial func(*bootstrap.Server) (Transport, error)
	// Metrics may be nil.
	Metrics Metrics
	// Logger may be nil. The Client holds no lock while it logs.
	Logger grpclog.DepthLoggerV2

	// DataErrors enables the handling of errors in resources that A88 defines.
	DataErrors bool
	// ResourceTimeout is how long the client waits for a resource (A57); 0 means 15 s. The time
	// is twice as long if the server's feature says so (A88).
	ResourceTimeout time.Duration
	// Backoff returns the pause after a number of failures in a row, counted from 0. Nil means
	// the backoff of connections.
	Backoff func(failures int) time.Duration
}

// Metrics receives the counts of A78. Servers are named by their URI, types by their URL. The Client holds no lock
// during calls.
type Metrics interface {
	// Updates counts the valid and the invalid resources of a response.
	Updates(server, typeURL string, valid, invalid int)
	// ServerFailure counts how often a server became unhealthy, which it is not at first.
	ServerFailure(server string)
}
