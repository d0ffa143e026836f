// SPDX-License-Identifier: Apache-2.0

package streams

import (
	"slices"
	"sync"
)

// Group is streams of a server that are sent the same messages, such as the watchers of one
// topic. The zero value has none. Its methods may be called by any goroutine, but not by
// interceptors and stats handlers that a Send calls.
type Group[Req, Res any] struct {
	mu    sync.RWMutex
	conns map[any]*members[Req, Res] // by connection
	n     int
}

// Add makes s a member; it must not be one already.
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

// Remove takes s out, if it is a member. OnDone is the place to call it at the latest: a
// member whose RPC has ended is kept otherwise.
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
		delete(g.conns, conn)
	}
}

// Len is how many members there are.
func (g *Group[Req, Res]) Len() int {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.n
}

// flushEach is after how many streams of one connection what was sent is written.
const flushEach = 128

// Send sends m to all members, as SendShared does, but that what goes out on one connection is
// written together. It returns how many have taken m, to be sent or to wait; the others have no
// room, or have ended, of which OnReady and OnDone tell.
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

// sendAll sends m on streams of one connection, and has it written. It returns how many have taken
// m.
func sendAll[Req, Res any](list []*Server[Req, Res], m *Shared[Res]) (taken int) {
	for i, s := range list {
		if s.core.send(m, manner(len(list)-1-i)) == nil {
			taken++
		}
	}
	if len(list) > 1 { // the last may have had no room, or be over
		list[0].base.Flush()
	}
	return taken
}
