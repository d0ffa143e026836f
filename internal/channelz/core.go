// SPDX-License-Identifier: Apache-2.0

package channelz

import (
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc/credentials"
)

// Node is the record of a channel, subchannel or server. It is safe for concurrent
// use, and its methods may be called on nil.
type Node struct {
	// Immutable.
	id     int64
	kind   Kind
	name   string
	parent *Node

	state atomic.Int32
	limit atomic.Uint32 // how many connections a subchannel may have
	calls struct {
		started, succeeded, failed atomic.Int64
		lastStarted                atomic.Int64 // Unix time in nanoseconds
	}
	trace trace

	// The registry's lock guards the fields below. children is nil while empty.
	children     map[int64]*Node
	mostChildren int     // see shrink.Delete
	sockets      sockets // without a server's listeners, which are in listens
	listens      sockets
	closed       bool
	named        int // how many events in other nodes' traces have this node as their subject
}

// Socket is the record of a listener or of a connection. It is safe for concurrent
// use, and its methods may be called on nil.
type Socket struct {
	id      int64
	kind    Kind
	parent  *Node
	source  SocketSource
	created int64 // in the time of package clock
}

// SocketSource returns a socket's data each time the socket is read. It is called
// with no lock held, possibly after the socket was closed.
type SocketSource interface {
	ChannelzSocket() SocketData
}

// SocketData is the data of a socket. A listener sets LocalAddr only.
type SocketData struct {
	LocalAddr, RemoteAddr net.Addr
	// RemoteName is the name that the peer was verified by, or the authority.
	RemoteName string
	// Security is nil for a connection that is not secure.
	Security credentials.ChannelzSecurityValue

	StreamsStarted, StreamsSucceeded, StreamsFailed int64
	MessagesSent, MessagesReceived                  int64
	KeepAlivesSent                                  int64

	// A time is zero if the event has not happened.
	LastLocalStreamCreated, LastRemoteStreamCreated time.Time
	LastMessageSent, LastMessageReceived            time.Time

	LocalFlowControlWindow, RemoteFlowControlWindow int64

	// MaxStreams is the peer's SETTINGS_MAX_CONCURRENT_STREAMS. It is 0 on a server.
	MaxStreams uint32
	// GoAway is the error code of the last GOAWAY that was received. It is nil if there was
	// none, and on a server.
	GoAway *uint32
	// LastError is why a stream last ended early. It is empty if no stream has.
	LastError   string
	LastErrorAt time.Time

	Options []SocketOption
	// System gives access to the operating system's socket. It is nil if there is none.
	System syscall.RawConn
}

// SocketOption is a fact about a socket for which SocketData has no field of its own.
type SocketOption struct{ Name, Value string }

// The options that connections have. Package channelz/service documents them.
const (
	OptionParked    = "grpc.parked"
	OptionStreams   = "grpc.streams_open"
	OptionBytesHeld = "grpc.bytes_held"
	OptionNotParked = "grpc.not_parkable" // the reason; absent if the connection can be parked
)
