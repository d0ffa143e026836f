// SPDX-License-Identifier: Apache-2.0

package client

import (
	"time"

	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/xds/bootstrap"
)

// Config is what a Client is made of.
type Config struct {
	// Bootstrap says which control planes there are.
	Bootstrap *bootstrap.Config
	// Dial connects to a control plane. It must not wait for the connection. An error is one of
	// configuration; the client tries again after a pause.
	Dial func(*bootstrap.Server) (Transport, error)
	// Metrics may be nil.
	Metrics Metrics
	// Logger may be nil.
	Logger grpclog.DepthLoggerV2

	// DataErrors says that errors in data are handled as A88 has it.
	DataErrors bool
	// ResourceTimeout is how long a resource may take to come (A57), 15 s if it is 0. Twice as
	// long where the server's feature says so (A88).
	ResourceTimeout time.Duration
	// Backoff returns the pause after so many failures in a row, 0 for the first. Nil means that
	// of connections.
	Backoff func(failures int) time.Duration
}

// Metrics are told what A78 counts. Servers are named by their URI, types by their URL.
type Metrics interface {
	// Updates counts resources in a response that were valid, and that were not.
	Updates(server, typeURL string, valid, invalid int)
	// ServerFailure counts the times that a server that worked stopped to.
	ServerFailure(server string)
}
