// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"sync/atomic"
	"unsafe"

	handlercontext "google.golang.org/grpc/internal/context"
	"google.golang.org/grpc/internal/handover"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// The types of a server that name each other. What each does is in the file of its name and in
// those that begin with that.

// ServerHandler is what runs the calls of a connection.
type ServerHandler interface {
	// NewStream returns the memory of a call, new, and how many bytes come with it that are the
	// handler's own, which so take no allocation. Its Context may be another's already. nil: the
	// handler needs none. The connection's reader calls it: it must not block.
	NewStream(Method) (st *ServerStream, own int)
	// Refuses returns what a call ends with that no handler is to see, and nil for one
	// that HandleStream serves. The connection's reader calls it: it must not block.
	Refuses(*ServerStream) *status.Status
	// HandleStream serves one call to its end, on a goroutine of its own. It
	// has to end the stream with Finish or Reply, unless it was handed over, and to return soon
	// after that: the end may be sent no sooner, but for Flush.
	HandleStream(*ServerStream)
	// ConnClosed says that the connection is gone. Its streams are told after
	// that. It must not block.
	ConnClosed(c *Server, err error)
	// Unparkable says that the connection turned out to be one that can't be parked. It must not block.
	Unparkable(c *Server, why string)
}

// ServerHost is what the connections of a server have in common.
type ServerHost struct {
	*ServerConfig
	Handler ServerHandler
	// Drain ends when the server begins to drain, or is stopped. Calls behind net/http see it.
	Drain context.Context

	ends endWaits
}

// Server is one connection that was accepted. It is safe for concurrent use.
type Server struct {
	conn    *h2.Conn
	host    *ServerHost
	special *special   // immutable after Start; that of most connections is ordinary
	peer    *peer.Peer // programs keep it: it is no part of the connection

	// Owned by the reader.
	held     *ServerStream // opened in this batch, not started yet: the last of a ring
	lastPing int64         // with strikes, a pingCount
	strikes  int32

	// Place is the handler's own: where it keeps the connection.
	Place int32
}

// special is what few connections have, so that the others are no larger for it.
type special struct {
	ctx     context.Context // what stats handlers put there
	traffic *traffic        // nil: nobody watches
	age     *ageTimers      // nil: there are none
	// shares says that the port serves more than gRPC: see package experimental/oneport. A
	// request that is not of gRPC has to be sent again, on another connection.
	shares bool
}

// ordinary is what most connections have of that.
var ordinary = special{ctx: context.Background()}

func (s *Server) traffic() *traffic { return s.special.traffic }

// ServerStream is one call as the server sees it, and the call's context.
//
// Recv may be called by one goroutine at a time, Send by one, and both at once;
// the methods about headers and trailers by any, at any time: the headers always go
// first, and nothing follows the end. It is never reused, because applications
// keep contexts.
type ServerStream struct {
	// What each message that is sent looks at stands together.
	h2     h2.Stream
	server *Server
	reply
	contextState
	over     atomic.Uint32 // a contextEnd, of the callContext; set with mu
	started  bool          // owned by the connection's reader; it stands here to fill a gap, as do these:
	fed      bool          // some of the body has arrived
	ended    bool          // the client has ended the body
	stranded bool          // the connection is gone
	body                   // guarded by mu, the reply's, as are what follows, fed, ended and stranded

	out *outcome // nil before the end
	// owner is set before the handler returns; nil: the call was not handed over. Few are, and an
	// interface would take more room in all.
	owner *handover.Owner

	req     *request
	handler handlercontext.Handler // the callContext as handlers see it
	held    *ServerStream          // the next one in Server.held; owned by the connection's reader
}

// serverStreamSize is the memory, in bytes, of a call that its handler has not begun to
// serve, with a place in the table of streams and one among the running handlers.
const serverStreamSize = int(unsafe.Sizeof(ServerStream{})) + 64

// outcome is how a call ends, encoded before the connection's lock is taken.
type outcome struct {
	status  grpcwire.StatusFields
	refusal *refusal // nil: a handler has served it
}

// callContext is the context of a server's call. It is the stream itself, so that it costs no
// allocation, and works on demand: the channel of Done, and the timer of the deadline, are
// made when somebody is going to wait. So a call whose handler uses neither its stream nor
// its context for a while is not reset at its deadline, but when it next uses one of them, or
// ends: a timer for each call would cost every one of them two allocations.
type callContext ServerStream

// contextState is the state of a callContext, without over and the timer. Guarded by mu.
type contextState struct {
	tree     context.Context // parent of the contexts that others derived, see waitable; nil: none has
	endTree  func()          // ends tree with the call's context; nil: that was done
	deadline int64           // by the clock; 0: the client set none. Set before anybody has the context.
}

// contextEnd is how a context ended, if it did. The error itself would take more room.
type contextEnd uint8

const (
	running contextEnd = iota
	cancelled
	expired
)
