// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"sync/atomic"
	"time"

	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/frame"
)

// traffic counts what a connection carries, if somebody watches it. For a connection that is
// not watched it is nil, and its methods do nothing.
type traffic struct {
	started, succeeded, failed atomic.Int64
	sent, received             atomic.Int64 // messages
	keepalives                 atomic.Int64 // PINGs

	// In nanoseconds of Unix time, 0 for never.
	lastStream, lastSent, lastReceived atomic.Int64

	lastError atomic.Pointer[streamFailure] // nil: no stream has failed
}

// streamFailure is why a stream ended before its time, and when.
type streamFailure struct {
	at  int64 // in nanoseconds of Unix time
	err *h2.StreamError
}

func (t *traffic) streamBegan() {
	if t != nil {
		t.started.Add(1)
		t.lastStream.Store(time.Now().UnixNano())
	}
}

// streamEnded is called once after each streamBegan. well says that the stream's end came in the regular
// way, whatever the status.
func (t *traffic) streamEnded(well bool) {
	switch {
	case t == nil:
	case well:
		t.succeeded.Add(1)
	default:
		t.failed.Add(1)
	}
}

// streamFailed records an error of a stream. The cancelling of a call is none, and an error that ended the
// connection is not one of the stream.
func (t *traffic) streamFailed(err *h2.StreamError) {
	if t == nil || err.Cause != nil || err.Code == frame.Cancel || err.Code == frame.NoError {
		return
	}
	t.lastError.Store(&streamFailure{at: time.Now().UnixNano(), err: err})
}

func (t *traffic) messageSent() {
	if t != nil {
		t.sent.Add(1)
		t.lastSent.Store(time.Now().UnixNano())
	}
}

func (t *traffic) messagesReceived(n int) {
	if t != nil {
		t.received.Add(int64(n))
		t.lastReceived.Store(time.Now().UnixNano())
	}
}

func (t *traffic) keepaliveSent() {
	if t != nil {
		t.keepalives.Add(1)
	}
}

func (t *traffic) stats() (s trafficStats) {
	if t == nil {
		return s
	}
	s = trafficStats{
		Started: t.started.Load(), Succeeded: t.succeeded.Load(), Failed: t.failed.Load(),
		Sent: t.sent.Load(), Received: t.received.Load(), KeepalivesSent: t.keepalives.Load(),
		LastStream: timeAt(&t.lastStream), LastSent: timeAt(&t.lastSent), LastReceived: timeAt(&t.lastReceived),
	}
	if f := t.lastError.Load(); f != nil {
		s.LastError, s.LastErrorAt = f.err.Error(), time.Unix(0, f.at)
	}
	return s
}

func timeAt(nanos *atomic.Int64) time.Time {
	if n := nanos.Load(); n != 0 {
		return time.Unix(0, n)
	}
	return time.Time{}
}

// trafficStats is what a connection has carried since it has been watched.
type trafficStats struct {
	// Started counts streams. Those that are over have succeeded, if their end came in the regular way,
	// whatever the status of the call; else they have failed.
	Started, Succeeded, Failed int64
	Sent, Received             int64 // messages
	KeepalivesSent             int64 // PINGs of keepalive, not those that measure a round trip

	// The zero time stands for never.
	LastStream, LastSent, LastReceived time.Time

	// LastError is why a stream last failed, "" if none has. A cancelled call is no failure.
	LastError   string
	LastErrorAt time.Time
}

// ConnStats is the state of a connection at a moment.
type ConnStats struct {
	Parked  bool // it has neither a goroutine nor a buffer
	Streams int  // that are open

	// Held is the memory, in bytes, of what the connection keeps: what came from the
	// peer, as its account says (messages in whole and in part, header blocks, open
	// streams and running handlers), what waits to be sent, and parts of records
	// of a secure connection. What passes through at the moment is not in it: bytes
	// that are being parsed, and those that are being written.
	Held int

	SendWindow, RecvWindow uint32 // bytes, of the connection's own windows
	trafficStats                  // zero unless it is watched
}

func statsOf(c *h2.Conn, t *traffic) ConnStats {
	s := c.Stats()
	return ConnStats{
		Parked: s.Parked, Streams: s.Streams, Held: s.Held + s.Queued + s.Reserved + s.Partial,
		SendWindow: s.SendWindow, RecvWindow: s.RecvWindow,
		trafficStats: t.stats(),
	}
}
