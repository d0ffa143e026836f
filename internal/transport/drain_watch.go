// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/internal/shrink"
	"google.golang.org/grpc/internal/transport/h2"
)

// drainWaits has a context for each connection whose drain somebody waits for. It is kept apart from the
// connections, because few need a context.
var drainWaits drainWatch

type drainWatch struct {
	n    atomic.Int32 // how many entries the map has, or is about to have
	mu   sync.Mutex   // taken before a connection's lock
	m    map[*h2.Conn]drainWait
	most int // see shrink.Delete
}

type drainWait struct {
	ctx   context.Context
	begin context.CancelFunc
}

// of returns a context that ends when c begins to drain. drains reports whether c has begun.
func (w *drainWatch) of(c *h2.Conn, drains func() bool) context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	if had, ok := w.m[c]; ok {
		return had.ctx
	}
	var wait drainWait
	wait.ctx, wait.begin = context.WithCancel(context.Background())
	w.n.Add(1) // first: if a drain begins now, either drains says so, or tell sees n
	switch {
	case drains():
		wait.begin()
		w.n.Add(-1)
	case c.Cause() != nil: // forget was called, or waits for mu
		w.n.Add(-1)
	default:
		if w.m == nil {
			w.m = make(map[*h2.Conn]drainWait)
		}
		w.m[c] = wait
	}
	return wait.ctx
}

// tell ends the context of c, which has begun to drain.
func (w *drainWatch) tell(c *h2.Conn) {
	if wait, ok := w.take(c); ok {
		wait.begin()
	}
}

// forget is called when c has ended.
func (w *drainWatch) forget(c *h2.Conn) { w.take(c) }

func (w *drainWatch) take(c *h2.Conn) (wait drainWait, ok bool) {
	if w.n.Load() == 0 {
		return wait, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if wait, ok = w.m[c]; ok {
		w.m = shrink.Delete(w.m, c, &w.most)
		w.n.Add(-1)
	}
	return wait, ok
}

var (
	_ ctxkey.Drainer = (*Server)(nil)
	_ ctxkey.Drainer = (*HandlerStream)(nil)
	_ ctxkey.Drainer = (*Client)(nil)
)

// Draining implements ctxkey.Drainer.
func (c *Client) Draining() context.Context {
	return drainWaits.of(c.conn, func() bool { return c.leave.Load() != nil })
}

// Draining implements ctxkey.Drainer.
func (s *Server) Draining() context.Context { return drainWaits.of(s.conn, s.conn.Draining) }

// Draining implements ctxkey.Drainer.
func (s *HandlerStream) Draining() context.Context { return s.drain }

// DrainBegins implements h2.DrainObserver.
func (h *serverHandler) DrainBegins() { drainWaits.tell(h.conn) }
