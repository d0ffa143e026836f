// SPDX-License-Identifier: Apache-2.0

package protocol

import "google.golang.org/grpc/internal/transport/h2/flow"

// Conn is the state of one HTTP/2 connection. Its methods take frames, queue frames in answer, and
// return what the streams have to be told. They wait for nothing, and call nobody but a FieldSource and a
// Waiter. What the driver has to do about them, and they can't, gathers in todo.
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

// New returns a connection that has not begun: see Start.
func New(side Side, cfg *Config) Conn {
	return Conn{
		out:     newOutput(cfg),
		streams: streams{streamTable: newStreamTable(side)},
		windows: flow.NewWindows(cfg.streamWindow()),
	}
}

// Todo is what the driver has to do before it gives up the lock: a set.
type Todo uint8

// What there may be to do.
const (
	WakeReader Todo = 1 << iota // the reader, which waits, can go on: see Conn.BlockReader
	CloseConn                   // all is said: close, a server once the client has hung up
	LastIsOver                  // no stream is open any more
)

// Has reports whether one is in the set.
func (t Todo) Has(one Todo) bool { return t&one != 0 }

// HasTodo reports whether there is something to do.
func (c *Conn) HasTodo() bool { return c.todo != 0 }

// TakeTodo returns what there is to do, and forgets it.
func (c *Conn) TakeTodo() Todo {
	t := c.todo
	c.todo = 0
	return t
}

// ending returns end, which the first call makes.
func (c *Conn) ending() *ending {
	if c.end == nil {
		c.end = new(ending)
	}
	return c.end
}
