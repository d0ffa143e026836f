// SPDX-License-Identifier: Apache-2.0

// Package footprint tells what the connections of a process hold: how many are
// open, how many of these are parked (idle: without goroutine and buffer), and how
// much memory is out of the buffer pool.
//
// There are three ways to see it:
//
//   - [Read] returns the figures of the process at a moment, for a status page or
//     a test.
//   - The gauges of this package are metrics in the sense of gRFC A79. They are off by
//     default. A stats handler that is also an experimental/stats.MetricsRecorder,
//     and that is given to a channel or a server, is offered them; it reports those
//     that the user names, see [Metrics], once a collection.
//   - The channelz service has figures for each connection, among the options of
//     a socket: see its documentation.
//
// Nothing here runs, or costs anything, between two times that somebody asks.
//
// All of it may change or go in a later release.
package footprint

import (
	"google.golang.org/grpc/internal/ballast"
	"google.golang.org/grpc/internal/mem"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/transport"
)

// Snapshot is what the process holds. While connections and buffers come and go the
// figures are of slightly different moments; at rest they are exact.
type Snapshot struct {
	// Connections are open, from the end of the handshake on: those that servers
	// accepted and those that channels made. A connection within the process
	// counts twice, once for each end. Those of a net/http server in front of
	// grpc.Server.ServeHTTP are not counted.
	Connections int64
	// Parked connections are idle: they have no goroutine, and no buffer.
	Parked int64
	// Active ones are the others. A connection on which nothing arrives parks
	// within 200 ms; one that can't be parked, as it is no socket, or wrapped by
	// something with a Read of its own, or the system has no poller, is always
	// active.
	Active int64

	// BuffersLent is how many buffers are out of the pool of the process: with
	// messages that are being received, sent or used, and with what connections
	// read and write. Pools that the program made itself are not counted.
	BuffersLent int64
	// BytesLent is the capacity of those, in bytes.
	BytesLent int64
	// BytesHeld is the memory, in bytes, that peers make connections hold: messages that
	// have arrived, in whole or in part, and were not taken; headers; calls, until
	// their handlers return. Some of it is in BytesLent, too. Package experimental has
	// options that bound it for each connection.
	BytesHeld int64
	// BytesKept is what the pool keeps for reuse, in bytes. A garbage collection
	// may have freed some of it.
	BytesKept int64
	// Ballast is memory, in bytes, that counts as used on the heap, and in its profile, but that
	// nobody touches, so that the system has no pages for it. There is none unless
	// GRPC_GO_EXPERIMENTAL_BUSY_HEAP is set: then there is some while a process with a small heap
	// carries messages and collects often.
	Ballast int64
}

// Read returns what the process holds now. It adds up some hundred counters, which
// takes microseconds and no memory. It may be called by any goroutine.
func Read() Snapshot {
	open := transport.OpenConns()
	// Connections that were made since must not be parked ones that are not open.
	parked := min(park.ReadStats().Parked, open)
	pool := mem.Default().Stats()
	return Snapshot{
		Connections: open,
		Parked:      parked,
		Active:      open - parked,
		BuffersLent: pool.Buffers,
		BytesLent:   pool.Bytes,
		BytesHeld:   transport.BytesHeld(),
		BytesKept:   pool.Kept,
		Ballast:     ballast.Bytes(),
	}
}

// Unparkable counts, among the open connections, those that can't be parked, by the reason.
// It says nothing of those that are merely busy. The option "grpc.not_parkable" of a channelz
// socket has the reason for any single connection. At verbosity 2 each such connection is
// logged when it is made, or when it turns out.
//
// These are the reasons. T is the type of the connection that a listener, a dialer or
// credentials have returned.
//
//   - "reading with pooled buffers is off": by the variable
//     GRPC_GO_EXPERIMENTAL_HTTP_FRAMER_READ_BUFFER_POOLING.
//   - "there is no poller for sockets on this system".
//   - "it is in a bubble of testing/synctest", where the clock is not the system's.
//   - "the system refuses to watch its socket: ...": it is out of descriptors, of memory or of
//     watches (on Linux fs.epoll.max_user_watches). Connections that come later are tried anew.
//   - "T is no socket, and does not show one below it", by embedding it or by a method NetConn:
//     bufconn, net.Pipe, channels of SSH. A wrapper can implement experimental.Reading.
//   - "T is waited for in a ReadOnReady of its own": see experimental.ReadyReader. It has
//     no buffer meanwhile. One that is an experimental.TryReader, too, is parked.
//   - "T has a Read of its own, in which it is waited for": nobody but T knows what that does. It
//     may buffer more than it returns, set a deadline while it waits, or be fed by a goroutine. While such a
//     connection is idle it has a goroutine and 256 bytes. One that only counts can implement
//     experimental.ReadCounter, and is parked then. What cmux and go-proxyproto do is known, on Linux and over
//     TCP: they are parked.
func Unparkable() map[string]int { return transport.Unparkable() }
