// SPDX-License-Identifier: Apache-2.0

package debugpage

import (
	"runtime"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental/footprint"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/netaddr"
)

// View is one page, in the form of its JSON. Fields that a page does not show are left out.
type View struct {
	Time    time.Time `json:"time"`
	Process *Process  `json:"process,omitempty"`
	Node    *Node     `json:"node,omitempty"` // the server, channel or subchannel that was asked for
	// Connection is the connection or listener that was asked for.
	Connection *Connection `json:"connection,omitempty"`

	Servers     []Node       `json:"servers,omitempty"`
	Channels    []Node       `json:"channels,omitempty"` // of the process, or of the node
	Connections []Connection `json:"connections,omitempty"`
	RPCs        []RPC        `json:"rpcs,omitempty"` // oldest first
	Lost        []Lost       `json:"lost,omitempty"` // latest first

	// Next is the query of the page on which the lists go on, or "" on the last page.
	Next string `json:"next,omitempty"`
}

// Process has what all connections and buffers of the process hold: see footprint.Snapshot.
type Process struct {
	Version    string `json:"version"`
	Go         string `json:"go"`
	Goroutines int    `json:"goroutines"`

	Connections int64 `json:"connections"`
	Parked      int64 `json:"connections_parked"`
	Active      int64 `json:"connections_active"`
	BytesHeld   int64 `json:"bytes_held"`
	BuffersLent int64 `json:"buffers_lent"`
	BytesLent   int64 `json:"bytes_lent"`
	BytesKept   int64 `json:"bytes_kept"`

	// Unparkable counts the connections that can't be parked, by reason.
	Unparkable map[string]int `json:"unparkable,omitempty"`
}

// Node is a server, channel or subchannel.
type Node struct {
	ID      int64     `json:"id"`
	Kind    string    `json:"kind"`
	Name    string    `json:"name"` // a target, or addresses
	State   string    `json:"state,omitempty"`
	Created time.Time `json:"created"`

	Started   int64     `json:"rpcs_started"`
	Succeeded int64     `json:"rpcs_succeeded"`
	Failed    int64     `json:"rpcs_failed"`
	LastRPC   time.Time `json:"last_rpc,omitzero"`

	LastError *Event   `json:"last_error,omitempty"`
	Listeners []string `json:"listeners,omitempty"`
	Trace     []Event  `json:"trace,omitempty"` // only on the node's own page
}

// Event is something that happened to a node.
type Event struct {
	Time time.Time `json:"time"`
	Text string    `json:"text"`
}

// RPC is an RPC of a server that is under way.
type RPC struct {
	Method string    `json:"method"`
	Peer   string    `json:"peer"`
	Began  time.Time `json:"began"`
}

// Lost is a connection of a server that ended by an error.
type Lost struct {
	Peer  string    `json:"peer"`
	Began time.Time `json:"began"`
	Ended time.Time `json:"ended"`
	Error string    `json:"error"`
}

// view makes the page for q. ok is false if what q asks for does not exist.
func (p *Page) view(q query) (v View, ok bool) {
	v.Time = time.Now()
	switch q.kind {
	case "":
		p.first(&v, q)
		return v, true
	case "socket":
		s := channelz.SocketByID(q.id)
		if s == nil {
			return v, false
		}
		c := connectionOf(s)
		v.Connection = &c
		return v, true
	}
	return v, p.node(&v, q)
}

// first fills in the first page.
func (p *Page) first(v *View, q query) {
	v.Process = processNow()
	servers, lastServer := channelz.Servers(channelz.Page{From: q.from, Limit: q.rows})
	channels, lastChannel := channelz.TopChannels(channelz.Page{From: q.from, Limit: q.rows})
	// Both lists go on at the same number, so each ends where the shorter one has to.
	end := int64(-1)
	cut := func(last bool, list []channelz.NodeData) {
		if !last && (end < 0 || list[len(list)-1].ID < end) {
			end = list[len(list)-1].ID
		}
	}
	cut(lastServer, servers)
	cut(lastChannel, channels)
	v.Servers, v.Channels = nodesOf(servers, end), nodesOf(channels, end)
	if end >= 0 {
		v.Next = q.next(end + 1)
	}
	if q.from == 0 {
		v.RPCs, v.Lost = p.rpcs(q.rows), p.lost(q.rows)
	}
}

func processNow() *Process {
	s := footprint.Read()
	return &Process{
		Version:     grpc.Version,
		Go:          runtime.Version(),
		Goroutines:  runtime.NumGoroutine(),
		Connections: s.Connections,
		Parked:      s.Parked,
		Active:      s.Active,
		BytesHeld:   s.BytesHeld,
		BuffersLent: s.BuffersLent,
		BytesLent:   s.BytesLent,
		BytesKept:   s.BytesKept,
		Unparkable:  footprint.Unparkable(),
	}
}

// nodesOf returns the nodes of a list up to number end, or all of them if end is negative.
func nodesOf(list []channelz.NodeData, end int64) []Node {
	var nodes []Node
	for _, d := range list {
		if end < 0 || d.ID <= end {
			nodes = append(nodes, nodeOf(d))
		}
	}
	return nodes
}

// node fills in the page of a server, channel or subchannel. It returns false if that does not exist.
func (p *Page) node(v *View, q query) bool {
	kind := channelz.Kind(slices.Index(kinds, q.kind))
	d, ok := channelz.NodeByID(kind, q.id)
	if !ok {
		return false
	}
	n := nodeOf(d)
	for _, e := range d.Trace.Events {
		n.Trace = append(n.Trace, eventOf(e))
	}
	v.Node = &n
	sockets, last := cutRefs(d.Sockets, q)
	if kind == channelz.Server {
		sockets, last = channelz.ServerSockets(q.id, channelz.Page{From: q.from, Limit: q.rows})
	}
	if !last {
		v.Next = q.next(sockets[len(sockets)-1].ID + 1)
	}
	for _, ref := range sockets {
		if s := channelz.SocketByID(ref.ID); s != nil { // it may have closed
			v.Connections = append(v.Connections, connectionOf(s))
		}
	}
	// Only channels have children, and they have no sockets, so at most one of the two lists goes on.
	children, last := cutRefs(d.Children, q)
	if !last {
		v.Next = q.next(children[len(children)-1].ID + 1)
	}
	for _, ref := range children {
		if d, ok := channelz.NodeByID(ref.Kind, ref.ID); ok {
			v.Channels = append(v.Channels, nodeOf(d))
		}
	}
	return true
}

// cutRefs returns the part of a list, which is sorted by number, that is on the page of q, and whether
// it is the last part.
func cutRefs(list []channelz.Ref, q query) (part []channelz.Ref, last bool) {
	at, _ := slices.BinarySearchFunc(list, q.from, func(r channelz.Ref, id int64) int { return int(min(max(r.ID-id, -1), 1)) })
	list = list[at:]
	if len(list) <= q.rows {
		return list, true
	}
	return list[:q.rows], false
}

func nodeOf(d channelz.NodeData) Node {
	n := Node{
		ID: d.ID, Kind: kinds[d.Kind], Name: d.Name, Created: d.Trace.Created,
		Started: d.CallsStarted, Succeeded: d.CallsSucceeded, Failed: d.CallsFailed, LastRPC: d.LastCallStarted,
	}
	if d.Kind != channelz.Server {
		n.State = d.State.String()
	}
	for _, s := range d.Sockets {
		if s.Kind == channelz.Listener {
			n.Listeners = append(n.Listeners, s.Name)
		}
	}
	for _, e := range slices.Backward(d.Trace.Events) {
		if e.Severity >= channelz.Warning {
			event := eventOf(e)
			n.LastError = &event
			break
		}
	}
	return n
}

func eventOf(e channelz.TraceEvent) Event { return Event{Time: e.Time, Text: e.Text} }

// rpcs returns the oldest RPCs of all servers in p.Servers.
func (p *Page) rpcs(rows int) []RPC {
	var list []RPC
	for _, s := range p.Servers {
		for _, r := range s.RPCs() {
			rpc := RPC{Method: r.Method, Began: r.Began}
			if r.Peer != nil {
				rpc.Peer = netaddr.Text(r.Peer.Addr)
			}
			list = append(list, rpc)
		}
	}
	slices.SortStableFunc(list, func(a, b RPC) int { return a.Began.Compare(b.Began) })
	return list[:min(len(list), rows)]
}

// lost returns the connections that all servers in p.Servers lost last.
func (p *Page) lost(rows int) []Lost {
	var list []Lost
	for _, s := range p.Servers {
		for _, l := range s.Lost() {
			list = append(list, Lost{Peer: netaddr.Text(l.Addr), Began: l.Began, Ended: l.Ended, Error: l.Err.Error()})
		}
	}
	slices.SortStableFunc(list, func(a, b Lost) int { return b.Ended.Compare(a.Ended) })
	return list[:min(len(list), rows)]
}
