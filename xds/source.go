// SPDX-License-Identifier: Apache-2.0

package xds

import (
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/xds/server"
	"google.golang.org/grpc/internal/xds/xdsclient"
	"google.golang.org/grpc/stats"
)

// source is the rpcconfig.Source of a GRPCServer, with what the options have set.
type source struct {
	server.Source
	pool        func() *xdsclient.Pool
	err         error // the error of an option that is not valid
	modeChanged func(net.Addr, connectivity.ServingMode, error)

	handlers  []stats.Handler
	recorders []estats.MetricsRecorder
}

// SetRecorders implements rpcconfig.Recording.
func (s *source) SetRecorders(handlers []stats.Handler, others []estats.MetricsRecorder) {
	s.handlers, s.recorders = handlers, others
}

// sourceOption is the server option that brings a source to package grpc.
type sourceOption struct {
	grpc.EmptyServerOption
	source *source
}

// ServerRPCConfig is the method by which package grpc finds the source.
func (o sourceOption) ServerRPCConfig() rpcconfig.Source { return o.source }

// serverOption is an option of NewGRPCServer; grpc.NewServer ignores it.
type serverOption struct {
	grpc.EmptyServerOption
	set func(*source)
}
