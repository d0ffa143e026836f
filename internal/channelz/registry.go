// SPDX-License-Identifier: Apache-2.0

package channelz

import (
	"maps"
	"slices"
	"sync"

	"google.golang.org/grpc/internal/shrink"
)

// pageSize is how many entries a page holds if the request has no limit.
const pageSize = 50

// registry holds all nodes and sockets that are open, and closed nodes that a trace names. Nodes are not kept in
// order: a page sorts them when it is read, so that opening and closing a node stay cheap. There are few nodes.
type registry struct {
	mu      sync.RWMutex
	nodes   map[int64]*Node
	sockets map[int64]*Socket
	// See shrink.Delete.
	mostNodes, mostSockets int
}

var entries = registry{
	nodes:   make(map[int64]*Node),
	sockets: make(map[int64]*Socket),
}

func (r *registry) addNode(n *Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nodes[n.id] = n
	if p := n.parent; p != nil {
		if p.children == nil {
			p.children = make(map[int64]*Node)
		}
		p.children[n.id] = n
	}
}

// closeNode marks the node as closed and removes it from its parent's children. It returns
// false if the node was closed before.
func (r *registry) closeNode(n *Node) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n.closed {
		return false
	}
	n.closed = true
	if n.parent != nil {
		n.parent.children = shrink.Delete(n.parent.children, n.id, &n.parent.mostChildren)
	}
	return true
}

// dropNode removes a closed node from the registry, unless a trace names it.
func (r *registry) dropNode(n *Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropLocked(n)
}

// dropLocked is dropNode for callers that hold r.mu. It also removes closed nodes that only the
// trace of n names.
func (r *registry) dropLocked(n *Node) {
	if !n.closed || n.named > 0 || r.nodes[n.id] == nil {
		return
	}
	r.nodes = shrink.Delete(r.nodes, n.id, &r.mostNodes)
	for _, e := range n.trace.end() {
		r.forgetLocked(e.Subject.ID)
	}
}

// addEvent adds e, which is about subject, to the trace of n. It does nothing if n was removed
// from the registry.
func (r *registry) addEvent(n *Node, e TraceEvent, subject *Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.nodes[n.id] == nil {
		return
	}
	subject.named++
	r.forgetLocked(n.trace.add(e).Subject.ID)
}

// forget records that an event, whose subject is the node with the number, was removed from a
// trace.
func (r *registry) forget(id int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetLocked(id)
}

// forgetLocked is forget for callers that hold r.mu. It does nothing for the number 0, which is
// that of an event without a subject.
func (r *registry) forgetLocked(id int64) {
	if n := r.nodes[id]; n != nil {
		n.named--
		r.dropLocked(n)
	}
}

func (r *registry) addSocket(s *Socket) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sockets[s.id] = s
	s.parent.socketsOf(s.kind).add(s)
}

func (r *registry) removeSocket(s *Socket) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sockets = shrink.Delete(r.sockets, s.id, &r.mostSockets)
	s.parent.socketsOf(s.kind).remove(s)
}

// socketsOf returns the node's set of sockets of a kind.
func (n *Node) socketsOf(k Kind) *sockets {
	if k == Listener {
		return &n.listens
	}
	return &n.sockets
}

func sortedKeys[T any](m map[int64]T) []int64 {
	return slices.Sorted(maps.Keys(m))
}
