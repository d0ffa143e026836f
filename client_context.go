// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/internal/stats"
	"google.golang.org/grpc/internal/transport"
)

// clientContext is the context of a stream that is committed, or hedged. PreparedMsg finds in it
// how the stream's messages are written, and package peer finds the server.
type clientContext struct {
	context.Context
	stream *clientStream
	conn   *transport.Client // nil until it is known which server answers
}

// Value implements context.Context.
func (c *clientContext) Value(key any) any {
	switch key.(type) {
	case messageWriterKey:
		return &c.stream.writer
	case ctxkey.Peer:
		if c.conn != nil {
			return c.conn.Peer()
		}
	case ctxkey.ClientRoom:
		if c.conn != nil {
			return (*heldStream)(c.stream)
		}
		return nil
	case stats.LabelsKey:
		// Not the attempt's: the labels of an RPC that the program makes with this context are not this one's.
		return c.stream.ctx.Value(key)
	case ctxkey.ClientConn:
		if c.conn != nil {
			return c.conn
		}
		return nil // not the connection of a handler whose context the RPC may have
	}
	return c.Context.Value(key)
}

// String keeps fmt from reading fields that others write.
func (c *clientContext) String() string { return "context of a gRPC stream" }

// streamContext is the context of a streaming RPC. It ends with its parent or with the RPC. When
// somebody waits for that end, or derives a context, streamContext makes a context of the standard
// library, the tree. Most streams need none.
type streamContext struct {
	parent context.Context

	cancelled atomic.Bool // cancel was called before parent ended

	mu      sync.Mutex
	begun   bool            // the program has the stream, which can now end before parent
	tree    context.Context // nil: nobody waits
	endTree context.CancelFunc
}

// begin records that the program is about to get the stream.
func (c *streamContext) begin() {
	c.mu.Lock()
	c.begun = true
	c.mu.Unlock()
}

// EarlyDone is what the wait for a connection uses in place of Done. Until the stream has begun only
// the parent can end it, so no tree is needed.
func (c *streamContext) EarlyDone() <-chan struct{} {
	c.mu.Lock()
	begun := c.begun
	c.mu.Unlock()
	if begun {
		return c.Done()
	}
	return c.parent.Done()
}

// waitable returns the tree, and makes it if there is none.
func (c *streamContext) waitable() context.Context {
	if tree := c.waited(); tree != nil {
		return tree
	}
	var made struct {
		tree context.Context
		end  context.CancelFunc
	}
	made.tree, made.end = context.WithCancel(c.parent) // without the lock: the parent is the program's
	c.mu.Lock()
	if c.tree == nil {
		c.tree, c.endTree = made.tree, made.end
	}
	tree := c.tree
	c.mu.Unlock()
	if tree != made.tree || c.cancelled.Load() {
		made.end()
	}
	return tree
}

// waited returns the tree, or nil if there is none.
func (c *streamContext) waited() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tree
}

// cancel ends the context.
func (c *streamContext) cancel() {
	ended := c.parent.Err() != nil // without the lock: the parent is the program's
	c.mu.Lock()
	if !ended {
		c.cancelled.Store(true)
	}
	endTree := c.endTree
	c.mu.Unlock()
	if endTree != nil {
		endTree()
	}
}

// Deadline implements context.Context.
func (c *streamContext) Deadline() (time.Time, bool) { return c.parent.Deadline() }

// Done implements context.Context.
func (c *streamContext) Done() <-chan struct{} { return c.waitable().Done() }

// Err implements context.Context.
func (c *streamContext) Err() error {
	if c.cancelled.Load() {
		return context.Canceled
	}
	return c.parent.Err()
}

// Value implements context.Context. Package context finds the tree by a key that only that package has.
func (c *streamContext) Value(key any) any {
	if tree := c.waited(); tree != nil {
		return tree.Value(key)
	}
	return c.parent.Value(key)
}

// String keeps fmt from reading fields that mu guards.
func (c *streamContext) String() string { return "context of a gRPC stream" }
