// SPDX-License-Identifier: Apache-2.0

package channelz

import (
	"fmt"
	"time"

	"google.golang.org/grpc/connectivity"
)

// NewNode registers a channel, subchannel or server. It returns nil while channelz is off.
// The name is, for example, a target or a list of addresses. A channel without a parent is
// a top channel.
func NewNode(parent *Node, kind Kind, name string) *Node {
	if !IsOn() {
		return nil
	}
	n := &Node{id: lastID.Add(1), kind: kind, name: name, parent: parent}
	n.trace.created = time.Now()
	entries.addNode(n)
	n.Trace(Info, n.created(), nil)
	parent.Trace(Info, n.inTrace()+" created", n)
	return n
}

// created returns the text of the first event of the node's own trace.
func (n *Node) created() string {
	text := n.kind.String() + " created"
	if n.kind == Channel && n.parent == nil {
		text += fmt.Sprintf(" for target %q", n.name)
	}
	return text
}

// inTrace returns what the trace of the node's parent calls the node.
func (n *Node) inTrace() string { return fmt.Sprintf("%v(id:%d)", n.kind, n.id) }

// Close records that the node's channel, subchannel or server has ended. The node is no longer
// listed, but can be read by its number as long as its parent's trace names it (gRFC A3).
func (n *Node) Close() {
	if n == nil || !entries.closeNode(n) {
		return
	}
	if n.kind != Server {
		n.SetState(connectivity.Shutdown)
	}
	n.Trace(Info, n.kind.String()+" deleted", nil)
	n.parent.Trace(Info, n.inTrace()+" deleted", n)
	entries.dropNode(n)
}

// ID returns the node's number. For a nil n it returns 0.
func (n *Node) ID() int64 {
	if n == nil {
		return 0
	}
	return n.id
}

// String returns the kind and number, for logs. For a nil n it returns "".
func (n *Node) String() string {
	if n == nil {
		return ""
	}
	return describe(n.kind, n.id)
}

func (*Node) channelzIdentifier() {}

// SetState records a change of the connectivity state.
func (n *Node) SetState(s connectivity.State) {
	if n == nil || n.state.Swap(int32(s)) == int32(s) {
		return
	}
	n.Trace(Info, n.kind.String()+" Connectivity change to "+s.String(), nil)
}

// SetMaxConnections records how many connections a subchannel may have (gRFC A105).
func (n *Node) SetMaxConnections(limit int) {
	if n != nil {
		n.limit.Store(uint32(limit))
	}
}

// CallStarted counts an RPC that began.
func (n *Node) CallStarted() {
	if n == nil {
		return
	}
	n.calls.started.Add(1)
	n.calls.lastStarted.Store(time.Now().UnixNano())
}

// CallEnded counts an RPC that ended.
func (n *Node) CallEnded(err error) {
	if n == nil {
		return
	}
	if err == nil {
		n.calls.succeeded.Add(1)
	} else {
		n.calls.failed.Add(1)
	}
}

// Trace adds an event to the node's trace. The subject is another node that the event
// is about, or nil.
func (n *Node) Trace(severity Severity, text string, subject *Node) {
	if n == nil {
		return
	}
	e := TraceEvent{Time: time.Now(), Severity: severity, Text: clip(text)}
	if subject != nil {
		e.Subject = subject.ref()
		entries.addEvent(n, e, subject)
		return
	}
	if old := n.trace.add(e); old.Subject.ID != 0 {
		entries.forget(old.Subject.ID)
	}
}

// NodeData is a copy of what a Node holds.
type NodeData struct {
	Ref
	// Parent is the parent's number, or 0 if there is none.
	Parent int64
	// State is meaningful for channels and subchannels only.
	State connectivity.State
	// MaxConnections is how many connections a subchannel may have. It is 0 for other nodes.
	MaxConnections uint32

	CallsStarted, CallsSucceeded, CallsFailed int64
	// LastCallStarted is the zero time before the first call.
	LastCallStarted time.Time

	Trace Trace
	// Children and Sockets are sorted by number. Sockets does not contain a server's
	// connections: there may be many, and ServerSockets returns pages of them.
	Children, Sockets []Ref
}

func (n *Node) ref() Ref {
	return Ref{Kind: n.kind, ID: n.id, Name: n.name}
}

// data returns a copy of the node's data. The caller must hold the registry's lock.
func (n *Node) data() NodeData {
	d := NodeData{
		Ref:            n.ref(),
		Parent:         n.parent.ID(),
		State:          connectivity.State(n.state.Load()),
		MaxConnections: n.limit.Load(),
		CallsStarted:   n.calls.started.Load(),
		CallsSucceeded: n.calls.succeeded.Load(),
		CallsFailed:    n.calls.failed.Load(),
		Trace:          n.trace.copy(),
	}
	if ns := n.calls.lastStarted.Load(); ns != 0 {
		d.LastCallStarted = time.Unix(0, ns)
	}
	for _, id := range sortedKeys(n.children) {
		d.Children = append(d.Children, n.children[id].ref())
	}
	own := &n.sockets
	if n.kind == Server {
		own = &n.listens
	}
	if own.len() > 0 {
		d.Sockets, _ = own.page(Page{Limit: own.len()})
	}
	return d
}
