// SPDX-License-Identifier: Apache-2.0

package channelz

import (
	"slices"
)

// Page says which entries of a list are wanted: those whose number is at least From, and
// at most Limit of them, or at most 50 if Limit is not positive.
type Page struct {
	From  int64
	Limit int
}

func (p Page) limit() int {
	if p.Limit <= 0 {
		return pageSize
	}
	return p.Limit
}

// TopChannels returns a page of the channels without a parent, and whether it is the last.
func TopChannels(p Page) (list []NodeData, last bool) {
	return entries.page(p, func(n *Node) bool { return n.kind == Channel && n.parent == nil })
}

// Servers returns a page of the servers, and whether it is the last.
func Servers(p Page) (list []NodeData, last bool) {
	return entries.page(p, func(n *Node) bool { return n.kind == Server })
}

// NodeByID returns a channel, subchannel or server by its number.
func NodeByID(kind Kind, id int64) (NodeData, bool) {
	entries.mu.RLock()
	defer entries.mu.RUnlock()
	n := entries.nodes[id]
	if n == nil || n.kind != kind {
		return NodeData{}, false
	}
	return n.data(), true
}

// SocketByID returns the socket with the number, or nil if there is none.
func SocketByID(id int64) *Socket {
	entries.mu.RLock()
	defer entries.mu.RUnlock()
	return entries.sockets[id]
}

// ServerSockets returns a page of a server's connections, and whether it is the last. The
// page is empty if there is no such server.
func ServerSockets(server int64, p Page) (list []Ref, last bool) {
	entries.mu.RLock()
	defer entries.mu.RUnlock()
	n := entries.nodes[server]
	if n == nil || n.kind != Server {
		return nil, true
	}
	return n.sockets.page(p)
}

func (r *registry) page(p Page, wanted func(*Node) bool) (list []NodeData, last bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	ids, last := choose(r.nodes, p, wanted)
	for _, id := range ids {
		list = append(list, r.nodes[id].data())
	}
	return list, last
}

// choose returns the sorted numbers of the wanted entries that are on the page, and whether
// the page is the last.
func choose[T any](all map[int64]T, p Page, wanted func(T) bool) (ids []int64, last bool) {
	for id, entry := range all {
		if id >= p.From && wanted(entry) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	limit := p.limit()
	if len(ids) <= limit {
		return ids, true
	}
	return ids[:limit], false
}
