// SPDX-License-Identifier: Apache-2.0

package channelz

import (
	"net"
	"time"

	"google.golang.org/grpc/internal/clock"
)

// NewSocket registers a Listener or a Connection until its Close, and returns nil while
// channelz is off or the parent is nil.
func NewSocket(parent *Node, kind Kind, source SocketSource) *Socket {
	if !IsOn() || parent == nil {
		return nil
	}
	if kind == Listener {
		source = namedSource{source, addressText(source.ChannelzSocket().LocalAddr)}
	}
	s := &Socket{id: lastID.Add(1), kind: kind, parent: parent, source: source, created: clock.Now()}
	entries.addSocket(s)
	return s
}

// Close takes the socket out of the registry.
func (s *Socket) Close() {
	if s != nil {
		entries.removeSocket(s)
	}
}

// ID returns the socket's number, 0 for nil.
func (s *Socket) ID() int64 {
	if s == nil {
		return 0
	}
	return s.id
}

// Created is when the socket was registered, the zero time for nil.
func (s *Socket) Created() time.Time {
	if s == nil {
		return time.Time{}
	}
	return clock.Time(s.created)
}

// String returns the kind and number, for logs; empty for nil.
func (s *Socket) String() string {
	if s == nil {
		return ""
	}
	return describe(s.kind, s.id)
}

func (*Socket) channelzIdentifier() {}

// Data asks the socket's source.
func (s *Socket) Data() SocketData {
	return s.source.ChannelzSocket()
}

// Ref names the socket. That of a listener has its address as the name.
func (s *Socket) Ref() Ref {
	r := Ref{Kind: s.kind, ID: s.id}
	if n, ok := s.source.(namedSource); ok {
		r.Name = n.name
	}
	return r
}

// namedSource is that of a socket with a name: of a listener, as there are many connections.
type namedSource struct {
	SocketSource
	name string
}

func addressText(a net.Addr) string {
	if a == nil {
		return ""
	}
	return a.String()
}
