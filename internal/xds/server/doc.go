// SPDX-License-Identifier: Apache-2.0

// Package server is what an xDS server does beyond serving (gRFC A36): for each listener it
// watches a Listener resource and the RouteConfigurations that this names, says whether the
// server serves, chooses a filter chain for each connection, and routes and filters each RPC by
// that. Package xds joins it with a grpc.Server.
//
// # Editions
//
// What a Listener says is made into an edition once all RouteConfigurations that it names have
// come, or turned out not to be there. A new edition takes the place of the one before, whose
// connections are drained: their clients begin further RPCs on new connections. What is still
// open after the drain grace time is closed. A RouteConfiguration that changes makes no edition:
// RPCs that begin afterwards go by it, on whatever connection.
//
// # Who owns what
//
// A [Listener] belongs to one net.Listener. Its mu guards the edition in force, the one that is
// being prepared, and the connections of each edition. Watchers are called one at a time by the
// xDS client; a connection belongs to the goroutine that serves it, and tells its edition when it
// is closed. Nothing is held for a connection but one entry in its edition's set; nothing that
// waits has a goroutine.
package server
