// SPDX-License-Identifier: Apache-2.0

// Package server has the xDS part of an xDS server (gRFC A36). For each listener it watches a
// Listener resource and the RouteConfigurations that the resource names, and reports whether the
// server serves. It chooses a filter chain for each connection, and with that chain it routes and
// filters each RPC. Package xds combines it with a grpc.Server.
//
// # Editions
//
// An edition is made from a version of the Listener resource. It takes effect once the control
// plane has sent all RouteConfigurations that it names, or has reported that they do not exist.
// It replaces the edition before, whose connections are drained: their clients begin further RPCs
// on new connections. Connections that are still open after the drain grace time are closed. A
// RouteConfiguration that changes makes no new edition: RPCs that begin after the change use it,
// on any connection.
//
// # Who owns what
//
// A [Listener] wraps one net.Listener. Its mu guards the current edition, the edition that is
// being prepared, and the connections of each edition. The xDS client calls watchers one at a
// time. A connection belongs to the goroutine that serves it, and removes itself from its edition
// when it is closed. An open connection costs only one entry in its edition's set. Nothing here
// needs a goroutine while it waits.
package server
