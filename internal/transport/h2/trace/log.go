// SPDX-License-Identifier: Apache-2.0

// Package trace writes what HTTP/2 connections do: a line for each frame, and for each time that a
// connection begins, parks, wakes or ends. It parses frames from the bytes on the wire, with HPACK
// decoders of its own, so a connection that is not traced pays nothing for it.
package trace

import (
	"io"
	"sync"
	"time"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// Options say what lines look like.
type Options struct {
	JSON bool // each line is a JSON object, not text
	// Values means that lines show the values of all header fields, also of those that may be secret.
	// Without it lines show values only for fields whose values are words of the protocols.
	Values bool
}

// Log writes the lines of any number of connections. It is safe for concurrent use.
type Log struct {
	opts Options
	now  func() time.Time

	mu    sync.Mutex // guards what follows, and is held while a line is written
	w     io.Writer
	conns map[any]*conn
	buf   []byte
}

// New returns a Log that writes each line with one Write.
func New(w io.Writer, o Options) *Log {
	return &Log{opts: o, now: time.Now, w: w, conns: map[any]*conn{}}
}

// State describes a connection at one moment.
type State struct {
	SendWindow int64  `json:"send_window"` // bytes of DATA that the peer lets us send on the connection
	RecvWindow uint32 `json:"recv_window"` // the size of the connection's receive window, in bytes
	Held       int64  `json:"held"`        // what the peer makes us hold, in bytes of memory
	Streams    int    `json:"streams"`     // how many streams are open
}

// conn is what the Log knows about one connection.
type conn struct {
	side, local, remote string
	received, sent      direction
}

// Open writes the first line of a connection. key identifies the connection in calls of the other
// methods.
func (l *Log) Open(key any, side, local, remote string, s State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &conn{side: side, local: local, remote: remote}
	l.conns[key] = c
	l.write(c, &record{Event: "open", State: s})
}

// Event writes that something happened to a connection. It writes nothing if the connection was not
// opened, or is closed.
func (l *Log) Event(key any, event, detail string, s State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.conns[key]; c != nil {
		l.write(c, &record{Event: event, Detail: detail, State: s})
	}
}

// Close writes the last line of a connection. It writes nothing if the connection was not opened, or is
// closed.
func (l *Log) Close(key any, reason string, s State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.conns[key]; c != nil {
		l.write(c, &record{Event: "closed", Detail: reason, State: s})
	}
	delete(l.conns, key)
}

// Received writes a line for a frame that the peer sent. It ignores the payload of DATA.
func (l *Log) Received(key any, h frame.Header, payload []byte, s State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.conns[key]; c != nil {
		r := c.received.record(h, payload, l.opts.Values)
		r.Event, r.State = "received", s
		l.write(c, r)
	}
}

// Sent writes a line for each frame in pieces, which are consecutive. Only the payload of DATA may
// continue from one piece to the next.
func (l *Log) Sent(key any, pieces [][]byte, s State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.conns[key]
	if c == nil {
		return
	}
	for h, payload := range frames(pieces) {
		r := c.sent.record(h, payload, l.opts.Values)
		r.Event, r.State = "sent", s
		l.write(c, r)
	}
}

func (l *Log) write(c *conn, r *record) {
	r.Time = l.now().UTC()
	r.Side, r.Local, r.Remote = c.side, c.local, c.remote
	l.buf = append(r.append(l.buf[:0], l.opts.JSON), '\n')
	_, _ = l.w.Write(l.buf) // nobody can be told that a line was not written
}
