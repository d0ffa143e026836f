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
	limit atomic.Uint32 // of a subchannel's connections
	calls struct {
		started, succeeded, failed atomic.Int64
		lastStarted                atomic.Int64 // Unix time in nanoseconds
	}
	trace trace

	// What follows belongs to the registry's lock. children is nil while empty.
	children map[int64]*Node
	sockets  sockets // a server's listeners are not among them
	listens  sockets
	closed   bool
	named    int // events in the traces of others, whose subject it is
}

// Socket is the record of a listener or of a connection. It is safe for concurrent
// use, and its methods may be called on nil.
type Socket struct {
	id      int64
	kind    Kind
	parent  *Node
	source  SocketSource
	created int64 // by the process's clock
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
	// LastError is why a stream last ended before its time, "" if none has.
	LastError   string
	LastErrorAt time.Time

	Options []SocketOption
	// System is what the operating system knows the socket by; nil if that is not known.
	System syscall.RawConn
}

// SocketOption is something about a socket that has no field of its own.
type SocketOption struct{ Name, Value string }

// The options that connections have. Package channelz/service documents them.
const (
	OptionParked    = "grpc.parked"
	OptionStreams   = "grpc.streams_open"
	OptionBytesHeld = "grpc.bytes_held"
	OptionNotParked = "grpc.not_parkable" // why; absent if it can be parked
)
