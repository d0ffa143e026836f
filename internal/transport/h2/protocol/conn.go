// SPDX-License-Identifier: Apache-2.0

package protocol

import "google.golang.org/grpc/internal/transport/h2/flow"

// Conn is the state of one HTTP/2 connection. Its methods take frames, queue frames in answer, and
// return what the streams must be told. They never wait, and call only FieldSources and Waiters. What
// else must be done, and only the driver can do, gathers in todo.
//
// A Conn has no lock of its own: its driver holds one during each call.
type Conn struct {
	life    life
	todo    Todo
	worked  bool    // HEADERS or DATA were encoded since the peer's last PING
	end     *ending // nil until the end begins
	out     output
	streams streams
	windows flow.Windows
	account account // what the peer makes us hold
}

// New returns a connection that has not started: see Start.
func New(side Side, cfg *Config) Conn {
	return Conn{
		out:     newOutput(cfg),
		streams: streams{streamTable: newStreamTable(side)},
		windows: flow.NewWindows(cfg.streamWindow()),
	}
}

// Todo is a set of things that the driver has to do before it gives up the lock.
type Todo uint8

// The things to do.
const (
	WakeReader Todo = 1 << iota // wake the reader, which waits: see Conn.BlockReader
	CloseConn                   // close the connection: all is said; a server first lets the client hang up
	LastIsOver                  // no stream is open any more
)

// Has reports whether one is in the set.
func (t Todo) Has(one Todo) bool { return t&one != 0 }

// HasTodo reports whether there is something to do.
func (c *Conn) HasTodo() bool { return c.todo != 0 }

// TakeTodo returns what there is to do, and clears it.
func (c *Conn) TakeTodo() Todo {
	t := c.todo
	c.todo = 0
	return t
}

// ending returns c.end, which the first call allocates.
func (c *Conn) ending() *ending {
	if c.end == nil {
		c.end = new(ending)
	}
	return c.end
}
