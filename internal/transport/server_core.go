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

// These are the types of a server that refer to each other. What a type does is in the file of its name and
// in the files whose names begin with that.

// ServerHandler is what runs the calls of a connection.
type ServerHandler interface {
	// NewStream returns new memory for a call, and how many bytes of that are the handler's own, which thus
	// need no allocation. The handler may have set its Context already. A nil st means that the handler
	// needs no memory. The connection's reader calls it: it must not block.
	NewStream(Method) (st *ServerStream, own int)
	// Refuses returns the status of a call that no handler may see, or nil for one that HandleStream
	// serves. The connection's reader calls it: it must not block.
	Refuses(*ServerStream) *status.Status
	// HandleStream serves one call to its end, on a goroutine of its own. It has to end the stream with
	// Finish or Reply, unless the stream was handed over. It has to return soon after that: without Flush,
	// the end may not be sent before it returns.
	HandleStream(*ServerStream)
	// ConnClosed says that the connection is gone. Its streams are told after that. It must not block.
	ConnClosed(c *Server, err error)
	// ConnTold follows ConnClosed, once the connection's streams are told. It must not block.
	ConnTold(c *Server, err error)
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
	special *special   // immutable after Start; most connections share ordinary
	peer    *peer.Peer // allocated apart from the connection, because programs keep it

	// Owned by the reader.
	held     *ServerStream // opened in this batch, not started yet: the last of a ring
	lastPing int64         // with strikes, a pingCount
	strikes  int32

	// Place belongs to the handler: it is where the handler keeps the connection.
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

// ordinary is the special of most connections.
var ordinary = special{ctx: context.Background()}

func (s *Server) traffic() *traffic { return s.special.traffic }

// ServerStream is one call as the server sees it, and the call's context.
//
// One goroutine at a time may call Recv, and one may call Send; the two may run at once. Any goroutine may
// call the methods about headers and trailers, at any time: the headers always go first, and nothing
// follows the end. A ServerStream is never reused, because applications keep contexts.
type ServerStream struct {
	// What every sent message uses stands together.
	h2     h2.Stream
	server *Server
	reply
	contextState
	over     atomic.Uint32 // a contextEnd, of the callContext; set with mu
	started  bool          // owned by the connection's reader; it stands here to fill a gap, as do these:
	fed      bool          // some of the body has arrived
	ended    bool          // the client has ended the body
	stranded bool          // the connection is gone
	body                   // mu of reply guards body and what follows it, and fed, ended and stranded

	out *outcome // nil before the end
	// owner is set before the handler returns; nil: the call was not handed over. It is a pointer because
	// few calls are, and an interface would take more room.
	owner *owned

	req     *request
	handler handlercontext.Handler // the callContext as handlers see it
	held    *ServerStream          // the next one in Server.held; owned by the connection's reader
}

// serverStreamSize is the memory, in bytes, of a call that its handler has not begun to
// serve, with a place in the table of streams and one among the running handlers.
const serverStreamSize = int(unsafe.Sizeof(ServerStream{})) + 64

// owned is what a call that was handed over has in addition.
type owned struct {
	handover.Owner
	tooLarge *h2.ErrHeaderListTooLarge // what ended the call, guarded by the stream's mu; nil: something else, or it goes on
}

// outcome is how a call ends, encoded before the connection's lock is taken.
type outcome struct {
	status  grpcwire.StatusFields
	refusal *refusal // nil: a handler has served it
	bare    bool     // the response is trailers only
}

// callContext is the context of a server's call. It is the stream itself, so that it costs no
// allocation, and works on demand: the channel of Done, and the timer of the deadline, are
// made when somebody is going to wait. So a call whose handler uses neither its stream nor
// its context for a while is not reset at its deadline, but when it next uses one of them, or
// ends: a timer for each call would cost every one of them two allocations.
type callContext ServerStream

// contextState is the state of a callContext, without over and the timer. Guarded by mu.
type contextState struct {
	tree     context.Context // parent of the contexts that others derived, see waitable; nil: nobody has
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
