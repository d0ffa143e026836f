// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"net"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/transport/h2/flow"
	"google.golang.org/grpc/internal/transport/h2/frame"
)

// Conn is one HTTP/2 connection, of either side. See the package comment for its organs,
// who runs what, and what the receiver of a method says about the lock.
type Conn struct {
	// Immutable after New, as are out.cfg and streams.side.
	wire    wire // the net.Conn
	handler Handler

	in     input       // the reader's
	handle park.Handle // where it stands between busy and parked; safe for all
	pulse  pulse       // safe for all

	mu sync.Mutex
	// Everything below is guarded by mu.

	life    life
	habit   habit   // the reader's alone; it stands here to fill a gap in the struct, as does
	waits   bool    // to write is to wait: see wire.waits; immutable
	end     *ending // nil until the end begins
	out     output
	streams streams
	windows flow.Windows
	account account   // what the peer makes us hold
	heart   heartbeat // of keepalive
}

// pulse is what the reader and others tell each other without the lock.
type pulse struct {
	quiet atomic.Bool // the sweeper has interrupted the reader's wait: its timeout means that
	heard atomic.Bool // there was input since this was last set to false

	// lastRead is when input was last seen, by the clock. It is kept only where keepalive
	// asks for it, and while the connection is new.
	lastRead atomic.Int64
}

// Stream is one HTTP/2 stream. It is meant to be a field of its owner's own
// stream, so that both are one allocation. Its methods may be called by any
// goroutine.
type Stream struct {
	stream
	conn *Conn // set before the stream is in its table
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
	Accept(b *HeaderBlock, end bool) (*Stream, error)
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
func New(nc net.Conn, side Side, cfg *Config, h Handler) *Conn {
	w := newWire(nc)
	return &Conn{
		wire:    w,
		waits:   w.waits(),
		habit:   stranger,
		handler: h,
		out:     newOutput(cfg),
		streams: streams{streamTable: newStreamTable(side)},
		windows: flow.NewWindows(cfg.streamWindow()),
	}
}

// locked is a Conn whose mu the caller holds. Methods that need the lock are locked's;
// those of Conn take it themselves, and calling them with it held does not compile.
type locked Conn

// lock takes mu.
func (c *Conn) lock() *locked {
	c.mu.Lock()
	return (*locked)(c)
}

// unlock releases mu. What was queued is left to somebody else to write: to the holder of
// the write token, or to the reader at the end of its batch.
func (c *locked) unlock() { c.mu.Unlock() }

// ending returns end, which the first call makes.
func (c *locked) ending() *ending {
	if c.end == nil {
		c.end = new(ending)
	}
	return c.end
}

// reader is the Conn as its reader has it: only the reader calls these methods, and
// without mu.
type reader Conn

func (r *reader) lock() *locked { return (*Conn)(r).lock() }

// writer is the Conn as the holder of the write token has it: only the holder calls these
// methods, and without mu.
type writer Conn

func (w *writer) lock() *locked { return (*Conn)(w).lock() }
