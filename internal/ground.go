// SPDX-License-Identifier: Apache-2.0

package internal

// What a simulation sets that decides what the connections of a program stand on (package attack/internal/crossing).
// Package grpc sets both.
var (
	// WithGround is a func(*park.Ground) grpc.DialOption, of package internal/park: the channel's connections stand on
	// this ground.
	WithGround any
	// Ground is a func(*park.Ground) grpc.ServerOption, the same for a server.
	Ground any
)
