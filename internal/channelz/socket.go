// SPDX-License-Identifier: Apache-2.0

package channelz

import (
	"net"
	"syscall"
	"time"

	"google.golang.org/grpc/credentials"
)

// Socket is the record of a listener or of a connection. It is safe for concurrent
// use, and its methods may be called on nil.
type Socket struct {
	id     int64
	kind   Kind
	parent *Node
	source SocketSource
}

// SocketSource is asked for what a socket has to tell when somebody reads it. It is
// called without any lock held, possibly after the socket was closed.
type SocketSource interface {
	ChannelzSocket() SocketData
}

// SocketData is what a socket has to tell. A listener sets LocalAddr only.
type SocketData struct {
	LocalAddr, RemoteAddr net.Addr
	// RemoteName is the name that the peer proved, or the authority.
	RemoteName string
	// Security is nil for a connection that is not secure.
	Security credentials.ChannelzSecurityValue

	StreamsStarted, StreamsSucceeded, StreamsFailed int64
	MessagesSent, MessagesReceived                  int64
	KeepAlivesSent                                  int64

	// Times are zero for what has not happened.
	LastLocalStreamCreated, LastRemoteStreamCreated time.Time
	LastMessageSent, LastMessageReceived            time.Time

	LocalFlowControlWindow, RemoteFlowControlWindow int64

	// MaxStreams is the peer's SETTINGS_MAX_CONCURRENT_STREAMS; a server tells 0.
	MaxStreams uint32
	// GoAway is the error code of the last GOAWAY that came; nil for none, and at servers.
	GoAway *uint32

	Options []SocketOption
	// System is what the operating system knows the socket by; nil if that is not known.
	System syscall.RawConn
}

// SocketOption is something about a socket that has no field of its own.
type SocketOption struct{ Name, Value string }

// NewSocket registers a Listener or a Connection until its Close, and returns nil while
// channelz is off or the parent is nil.
func NewSocket(parent *Node, kind Kind, source SocketSource) *Socket {
	if !IsOn() || parent == nil {
		return nil
	}
	if kind == Listener {
		source = namedSource{source, addressText(source.ChannelzSocket().LocalAddr)}
	}
	s := &Socket{id: lastID.Add(1), kind: kind, parent: parent, source: source}
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
