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

// Conn is one HTTP/2 connection, of either side. See the package comment for its parts,
// who runs what, and what the receiver of a method says about the lock.
type Conn struct {
	// Immutable after New, as are core.out.cfg and core.side().
	wire    wire // the net.Conn
	handler Handler

	in     input       // the reader's
	handle park.Handle // where it stands between busy and parked; safe for all

	// lastRead is when input was last seen, by the clock. It is kept only where keepalive
	// asks for it, and while the connection is new.
	lastRead atomic.Int64
	quiet    quietState // the sweeper has interrupted the reader's wait: its timeout means that. Or see rest.go
	marks    marks      // where the reader's role is, and whether the write token is offered

	mu mutex
	// Everything below is guarded by mu.
	core      protocol.Conn // the connection as RFC 9113 has it
	since     int64         // when the last stream ended, by the clock; only with Config.TrackIdle
	keepalive keepalive
}

// Stream is one HTTP/2 stream. It is meant to be a field of its owner's own
// stream, so that both are one allocation. Its methods may be called by any
// goroutine.
type Stream struct {
	core protocol.Stream // guarded by conn.mu, but for what Init sets
	conn *Conn           // set before the stream is in its table
}

// Handler is what a connection tells the role that owns it. All methods are
// called by the reader, one at a time. None may block or wait for anything that
// needs the connection to be read.
type Handler interface {
	// Accept returns the stream for a field block with which the peer opens a
	// stream. The stream is set up with Init and not yet known to the
	// connection: nothing can be sent on it until Opened. An error refuses it
	// as the error says. Only servers are asked. b may be TooLarge: fields are then
	// missing.
	Accept(b *protocol.HeaderBlock, end bool) (*Stream, error)
	// Opened follows each Accept that succeeded, once frames can be sent.
	Opened(s *Stream, end bool)
	// BatchEnd says that the reader is about to wait for input.
	BatchEnd()
	// Ready says that the peer's first SETTINGS arrived: it speaks HTTP/2.
	Ready()
	// PingReceived is asked about each PING of the peer's; an error ends the
	// connection. streams is how many are open, sent whether HEADERS or DATA
	// went out since the last PING.
	PingReceived(streams int, sent bool) error
	// GoAway says that the peer takes no more streams. Those above the last
	// one it named are failed as unprocessed right after. debug is valid during the call.
	GoAway(code frame.ErrCode, debug []byte)
	// Closed is the last call: the connection has ended, because of err. Streams that
	// were open are told after it. If the connection is closed before Start, Close
	// makes this call.
	Closed(err error)
}

// New makes a connection of nc, which it owns from then on. Nothing is read
// or written before Start.
func New(nc net.Conn, side protocol.Side, cfg *protocol.Config, h Handler) *Conn {
	w := wire{readyreader.NewSocket(nc)}
	return &Conn{
		wire:    w,
		handler: h,
		in:      input{predictor: untried, can: w.abilities(cfg)},
		core:    protocol.New(side, cfg),
	}
}

// locked is a Conn whose mu the caller holds. Methods that need the lock are locked's;
// those of Conn take it themselves, and calling them with it held does not compile.
type locked Conn

// lock takes mu.
func (c *Conn) lock() *locked {
	c.mu.Lock()
	if c.core.IsOffered() {
		c.core.OfferIsOver(c.marks.withdraw())
	}
	return (*locked)(c)
}

// unlock releases mu. What was queued is left to somebody else to write: to the holder of
// the write token, or to the reader at the end of its batch.
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
		// For a connection that can't park, whose reader waits already, nothing else may show what it
		// holds for long.
		c.show()
		if c.core.Config().TrackIdle {
			c.since = clock.Now()
		}
	}
	if todo.Has(protocol.WakeReader) {
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

// reader is the Conn as its reader has it: only the reader calls these methods, and
// without mu.
type reader Conn

func (r *reader) lock() *locked {
	if a := r.in.act; a != nil {
		a.skipsEnd = false
	}
	return (*Conn)(r).lock()
}

// writer is the Conn as the holder of the write token has it: only the holder calls these
// methods, and without mu.
type writer Conn

func (w *writer) lock() *locked { return (*Conn)(w).lock() }
