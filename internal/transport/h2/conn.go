// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"net"
	"sync/atomic"

	"google.golang.org/grpc/internal/clock"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/protocol"
)

// Conn is one HTTP/2 connection, of either side. The package comment describes its parts, which
// goroutine runs what, and what the receiver of a method says about the lock.
type Conn struct {
	// Immutable after New, as are core.Config() and core.Side().
	wire    wire // the net.Conn
	handler Handler

	in     input       // belongs to the reader
	handle park.Handle // whether the connection is busy or parked; safe for concurrent use

	// lastRead is the time on our clock when input was last seen. It is kept only if keepalive needs
	// it, and while the connection is new.
	lastRead atomic.Int64
	quiet    quietState // whether the sweeper has interrupted the reader's wait; or the state in rest.go
	marks    marks      // who has the reader's role, and whether the write token is offered

	mu mutex
	// Everything below is guarded by mu.
	core      protocol.Conn // the state of the connection according to RFC 9113
	since     int64         // time on our clock when the last stream ended; only with Config.TrackIdle
	keepalive keepalive
}

// Stream is one HTTP/2 stream. It is meant to be a field of its owner's own stream type, so that both
// are one allocation. Its methods may be called concurrently, unless they say otherwise.
type Stream struct {
	core protocol.Stream // guarded by conn.mu, except what Init sets
	conn *Conn           // set before the stream is in the connection's table
}

// Handler is the role that owns a connection: the client or server code above it. The reader calls all
// methods but AliveAsked, one at a time. None may block or wait for anything that needs the connection to be read.
type Handler interface {
	// Accept returns the stream for a field block with which the peer opens a stream. Accept sets the
	// stream up with Init. The connection does not know the stream yet: nothing can be sent on it until
	// Opened. An error refuses the stream, with the code of the error if it is a frame.Error. Only
	// servers are asked. If b is TooLarge, fields are missing.
	Accept(b *protocol.HeaderBlock, end bool) (*Stream, error)
	// Opened follows each Accept that succeeded, once frames can be sent.
	Opened(s *Stream, end bool)
	// BatchEnd says that the reader is about to wait for input.
	BatchEnd()
	// Ready says that the peer's first SETTINGS have arrived, which shows that the peer speaks HTTP/2.
	Ready()
	// PingReceived is called for each PING of the peer. An error ends the connection. streams is how
	// many streams are open. sent says whether we sent HEADERS or DATA since the peer's last PING.
	PingReceived(streams int, sent bool) error
	// AliveAsked says that keepalive sends a PING. If the connection ends at that moment, it may also follow
	// Closed.
	AliveAsked()
	// GoAway says that the peer accepts no more streams. Streams above the last one that its GOAWAY
	// named fail as unprocessed right after this call. debug is valid during the call.
	GoAway(code frame.ErrCode, debug []byte)
	// Closed is the last call of the reader, but for Told: the connection has ended because of err. The
	// streams that were open are told after it. If the connection is closed before Start, Close makes this
	// call.
	Closed(err error)
}

// EndHandler is a Handler that wants to know when all is told.
type EndHandler interface {
	Handler
	// Told follows Closed, once the streams that were open are told.
	Told()
}

// New returns a connection on nc, and owns nc from then on. It reads and writes nothing before Start.
func New(nc net.Conn, side protocol.Side, cfg *protocol.Config, h Handler) *Conn {
	w := wire{readyreader.NewSocket(nc)}
	return &Conn{
		wire:    w,
		handler: h,
		in:      input{predictor: untried, can: w.abilities(cfg)},
		core:    protocol.New(side, cfg),
	}
}

// locked is a Conn whose mu the caller holds. Methods that need the lock are methods of locked. Methods
// of Conn take the lock themselves; to call one of them on a locked does not compile.
type locked Conn

// lock takes mu.
func (c *Conn) lock() *locked {
	c.mu.Lock()
	if c.core.TokenIsLoose() {
		c.core.SettleToken(c.marks.fasten())
	}
	return (*locked)(c)
}

// unlock releases mu. It leaves what was queued to another goroutine to write: to the holder of the
// write token, or to the reader at the end of its batch.
func (c *locked) unlock() {
	if c.core.HasTodo() {
		c.perform()
	}
	c.mu.Unlock()
}

// perform does what the core asks for.
func (c *locked) perform() {
	todo := c.core.TakeTodo()
	if todo.Has(protocol.LastIsOver) {
		// If the connection can't park, and its reader waits already, nothing else would soon update
		// the total of what it holds.
		c.show()
		if c.core.Config().TrackIdle {
			c.since = clock.Now()
		}
	}
	if todo.Has(protocol.WakeReader) {
		if c.core.Config().Keepalive.Interval > 0 {
			c.lastRead.Store(clock.Now()) // the peer takes output, and until now its input was not read
		}
		c.in.act.wake <- struct{}{} // the reader's, which waits
	}
	if todo.Has(protocol.CloseConn) {
		go (*Conn)(c).part()
	}
}

// show brings the total of the process up to date with what the connection holds.
func (c *locked) show() {
	if d := c.core.Unshown(); d != 0 {
		c.total().Add(d)
	}
}

// reader is the Conn for its reader: only the holder of the reader's role calls these methods, and
// without mu.
type reader Conn

func (r *reader) lock() *locked {
	if a := r.in.act; a != nil {
		a.skipsEnd = false
	}
	return (*Conn)(r).lock()
}

// writer is the Conn for the holder of the write token: only that goroutine calls these methods, and
// without mu.
type writer Conn

func (w *writer) lock() *locked { return (*Conn)(w).lock() }
