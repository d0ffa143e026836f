// SPDX-License-Identifier: Apache-2.0

// Package internal has the marks that close three public interfaces, so that methods can
// be added to them later: an implementation outside this module has to embed one that
// exists. It also has what the modules beside this one (siblings.go) and a simulation
// (ground.go) reach of package grpc.
package internal

// EnforceSubConnEmbedding closes balancer.SubConn.
type EnforceSubConnEmbedding interface {
	subConnFromGRPC()
}

// EnforceClientConnEmbedding closes balancer.ClientConn.
type EnforceClientConnEmbedding interface {
	clientConnFromGRPC()
}

// EnforceMetricsRecorderEmbedding closes the MetricsRecorder of experimental/stats.
type EnforceMetricsRecorderEmbedding interface {
	metricsRecorderFromGRPC()
}

// SubConnSeal makes the type that embeds it a balancer.SubConn; it takes no space.
type SubConnSeal struct{}

func (SubConnSeal) subConnFromGRPC() {}

// ClientConnSeal makes the type that embeds it a balancer.ClientConn; it takes no space.
type ClientConnSeal struct{}

func (ClientConnSeal) clientConnFromGRPC() {}

// MetricsRecorderSeal makes the type that embeds it a MetricsRecorder; it takes no space.
type MetricsRecorderSeal struct{}

func (MetricsRecorderSeal) metricsRecorderFromGRPC() {}
