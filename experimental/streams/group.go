// SPDX-License-Identifier: Apache-2.0

package streams

import (
	"slices"
	"sync"

	"google.golang.org/grpc/internal/shrink"
)

// Group is a set of a server's streams that are sent the same messages, such as the watchers of one
// topic. The zero value is empty. Several goroutines may call its methods at the same time, but
// interceptors and stats handlers that run within a Send must not.
type Group[Req, Res any] struct {
	mu    sync.RWMutex
	conns map[any]*members[Req, Res] // by connection
	most  int                        // see shrink.Delete
	n     int
}

// Add makes s a member. s must not be one already.
func (g *Group[Req, Res]) Add(s *Server[Req, Res]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.conns == nil {
		g.conns = make(map[any]*members[Req, Res])
	}
	conn := s.base.Conn()
	m := g.conns[conn]
	if m == nil {
		m = new(members[Req, Res])
		g.conns[conn] = m
	}
	m.add(s)
	g.n++
}

// Remove takes s out of the group, if it is a member. Call it in OnDone at the latest: the group keeps
// members whose RPCs have ended.
func (g *Group[Req, Res]) Remove(s *Server[Req, Res]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	conn := s.base.Conn()
	m := g.conns[conn]
	if m == nil || !m.remove(s) {
		return
	}
	g.n--
	if len(m.list) == 0 {
		g.conns = shrink.Delete(g.conns, conn, &g.most)
	}
}

// Len returns the number of members.
func (g *Group[Req, Res]) Len() int {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.n
}

// flushEach is on how many streams of one connection a message is sent before the connection is flushed.
const flushEach = 128

// Send sends m to all members as SendShared does, but writes what goes out on one connection together.
// It returns how many members have accepted m, to be sent or to wait. The others have no room or have
// ended: their OnReady and OnDone are called.
func (g *Group[Req, Res]) Send(m *Res) (taken int) {
	shared := Share(m)
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, m := range g.conns {
		for part := range slices.Chunk(m.list, flushEach) {
			taken += sendAll(part, shared)
		}
	}
	return taken
}

// sendAll sends m on streams of one connection, and flushes the connection. It returns how many streams
// have accepted m.
func sendAll[Req, Res any](list []*Server[Req, Res], m *Shared[Res]) (taken int) {
	if len(list) > 1 {
		// The last one, which should have been written at once, may have had no room or be over. Or the program's
		// codec, interceptors or stats handlers have panicked before it.
		defer list[0].base.Flush()
	}
	for i, s := range list {
		if s.core.send(m, manner(len(list)-1-i)) == nil {
			taken++
		}
	}
	return taken
}
