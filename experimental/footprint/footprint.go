// SPDX-License-Identifier: Apache-2.0

// Package footprint tells what the connections of a process hold: how many are open, how many of these
// are parked (idle, without a goroutine and a buffer), and how much memory has been taken from the
// buffer pool and not been given back.
//
// There are three ways to see it:
//
//   - [Read] returns the present figures of the process, for a status page or a test.
//   - The gauges of this package are metrics in the sense of gRFC A79. They are off by default. A stats
//     handler that is also an experimental/stats.MetricsRecorder, and that is given to a channel or a
//     server, can report them. At each collection it reports those that the user has named: see
//     [Metrics].
//   - The channelz service has figures for each connection, among the options of
//     a socket: see its documentation.
//
// Nothing here runs, or costs anything, while nobody asks.
//
// All of this may change, or be removed, in a later release.
package footprint

import (
	"google.golang.org/grpc/internal/ballast"
	"google.golang.org/grpc/internal/mem"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/transport"
)

// Snapshot is what the process holds. While connections and buffers come and go, the figures
// are from slightly different moments. At rest they are exact.
type Snapshot struct {
	// Connections is the number of open connections, counted from the end of the handshake: those
	// that servers accepted and those that channels made. A connection within the process counts
	// twice, once for each end. Connections of a net/http server in front of
	// grpc.Server.ServeHTTP do not count.
	Connections int64
	// Parked is the number of connections that are idle, without a goroutine and a buffer.
	Parked int64
	// Active is the number of the other open connections. A connection on which nothing arrives
	// parks within 200 ms. A connection that can't be parked is always active: because it is no
	// socket, because its wrapper has a Read of its own, or because the system has no poller.
	Active int64

	// BuffersLent is how many buffers have been taken from the process's pool and not been given
	// back: those of messages that are being received, sent or used, and those with which
	// connections read and write. Pools that the program made itself do not count.
	BuffersLent int64
	// BytesLent is the capacity of these buffers, in bytes.
	BytesLent int64
	// BytesHeld is the memory, in bytes, that peers make connections hold: messages that have
	// arrived, in whole or in part, and have not been received by the program; headers; and calls,
	// until their handlers return. Some of it is in BytesLent too. Package experimental has options
	// that limit it for each connection.
	BytesHeld int64
	// BytesKept is what the pool keeps for reuse, in bytes. A garbage collection
	// may have freed some of it.
	BytesKept int64
	// Ballast is memory, in bytes, that counts as used on the heap, and in its profile, but that
	// nobody touches, so the system has no pages for it. There is none unless
	// GRPC_GO_EXPERIMENTAL_BUSY_HEAP is set. Then there is some while a process with a small heap
	// carries messages and collects garbage often.
	Ballast int64
}

// Read returns what the process holds now. It adds up some hundred counters, which takes
// microseconds and no memory. Several goroutines may call it at the same time.
func Read() Snapshot {
	open := transport.OpenConns()
	// Connections made since open was read may be parked. They must not make parked larger than open.
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

// Unparkable returns how many of the open connections can't be parked, by reason. Connections that are
// merely busy do not count. The option "grpc.not_parkable" of a channelz socket has the reason for a
// single connection. At verbosity 2 each such connection is logged, when it is made or when the reason
// becomes known.
//
// These are the reasons. T is the type of the connection that a listener, a dialer or
// credentials have returned.
//
//   - "reading with pooled buffers is off": the environment variable
//     GRPC_GO_EXPERIMENTAL_HTTP_FRAMER_READ_BUFFER_POOLING turns it off.
//   - "there is no poller for sockets on this system".
//   - "it is in a bubble of testing/synctest", where the clock is not the system's.
//   - "the system refuses to watch its socket: ...": it is out of descriptors, of memory or of
//     watches (on Linux fs.epoll.max_user_watches). It is asked again after a minute.
//   - "T is no socket, and does not show one below it", by embedding it or by a method NetConn:
//     bufconn, net.Pipe, channels of SSH. A wrapper can implement experimental.Reading.
//   - "T is waited for in a ReadOnReady of its own": see experimental.ReadyReader. It has no buffer
//     while it is idle. If it also is an experimental.TryReader, it is parked.
//   - "T has a Read of its own, in which it is waited for": only T knows what that Read does. It may
//     buffer more than it returns, set a deadline while it waits, or be fed by a goroutine. While such a
//     connection is idle it has a goroutine and 256 bytes. A T that only counts can implement
//     experimental.ReadCounter, and is then parked. The wrappers of cmux and go-proxyproto are known, and
//     are parked on Linux (but not 386 and s390x) over TCP, but for ALTS over them.
func Unparkable() map[string]int { return transport.Unparkable() }
