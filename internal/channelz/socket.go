// SPDX-License-Identifier: Apache-2.0

package channelz

import (
	"time"

	"google.golang.org/grpc/internal/clock"
	"google.golang.org/grpc/internal/netaddr"
)

// NewSocket registers a Listener or a Connection, which stays registered until Close. It
// returns nil while channelz is off, or if the parent is nil.
func NewSocket(parent *Node, kind Kind, source SocketSource) *Socket {
	if !IsOn() || parent == nil {
		return nil
	}
	if kind == Listener {
		source = namedSource{source, netaddr.Text(source.ChannelzSocket().LocalAddr)}
	}
	s := &Socket{id: lastID.Add(1), kind: kind, parent: parent, source: source, created: clock.Now()}
	entries.addSocket(s)
	return s
}

// Close removes the socket from the registry.
func (s *Socket) Close() {
	if s != nil {
		entries.removeSocket(s)
	}
}

// ID returns the socket's number. For a nil s it returns 0.
func (s *Socket) ID() int64 {
	if s == nil {
		return 0
	}
	return s.id
}

// Created returns when the socket was registered. For a nil s it returns the zero time.
func (s *Socket) Created() time.Time {
	if s == nil {
		return time.Time{}
	}
	return clock.Time(s.created)
}

// String returns the kind and number, for logs. For a nil s it returns "".
func (s *Socket) String() string {
	if s == nil {
		return ""
	}
	return describe(s.kind, s.id)
}

func (*Socket) channelzIdentifier() {}

// Data returns the socket's data, for which it asks the socket's source.
func (s *Socket) Data() SocketData {
	return s.source.ChannelzSocket()
}

// Ref returns a reference to the socket. A listener's name is its address.
func (s *Socket) Ref() Ref {
	r := Ref{Kind: s.kind, ID: s.id}
	if n, ok := s.source.(namedSource); ok {
		r.Name = n.name
	}
	return r
}

// namedSource is the source of a socket with a name. Only listeners have one: there are many
// connections, and a name for each would cost memory.
type namedSource struct {
	SocketSource
	name string
}
