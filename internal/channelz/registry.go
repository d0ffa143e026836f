// SPDX-License-Identifier: Apache-2.0

package channelz

import (
	"maps"
	"slices"
	"sync"
)

// pageSize is how many entries a page holds when the reader names no limit.
const pageSize = 50

// registry holds everything that is open, and what a trace names. The maps are made for reading by number;
// pages of nodes are sorted when they are asked for, so that opening and closing stay cheap: there are few.
type registry struct {
	mu      sync.RWMutex
	nodes   map[int64]*Node
	sockets map[int64]*Socket
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

// closeNode takes the node off all lists. It says whether it was on them.
func (r *registry) closeNode(n *Node) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n.closed {
		return false
	}
	n.closed = true
	if n.parent != nil {
		delete(n.parent.children, n.id)
	}
	return true
}

// dropNode removes a closed node, if no trace names it.
func (r *registry) dropNode(n *Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropLocked(n)
}

// dropLocked also gives up what only the node's own trace names.
func (r *registry) dropLocked(n *Node) {
	if !n.closed || n.named > 0 || r.nodes[n.id] == nil {
		return
	}
	delete(r.nodes, n.id)
	for _, e := range n.trace.end() {
		r.forgetLocked(e.Subject.ID)
	}
}

// addEvent adds e, whose subject is given, to the trace of n. A node that is gone has none.
func (r *registry) addEvent(n *Node, e TraceEvent, subject *Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.nodes[n.id] == nil {
		return
	}
	subject.named++
	r.forgetLocked(n.trace.add(e).Subject.ID)
}

// forget is called when an event is gone whose subject has the number.
func (r *registry) forget(id int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetLocked(id)
}

// forgetLocked does nothing for the number 0: an event without a subject.
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
	delete(r.sockets, s.id)
	s.parent.socketsOf(s.kind).remove(s)
}

// socketsOf returns where the node has sockets of a kind.
func (n *Node) socketsOf(k Kind) *sockets {
	if k == Listener {
		return &n.listens
	}
	return &n.sockets
}

func sortedKeys[T any](m map[int64]T) []int64 {
	return slices.Sorted(maps.Keys(m))
}
