// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// Client is one connection of a channel. It is safe for concurrent use.
type Client struct {
	conn      *h2.Conn
	cfg       *ClientConfig
	events    ClientEvents
	authority string
	secure    bool
	peer      *peer.Peer // programs keep it: it is no part of the connection

	leave atomic.Pointer[GoAway] // why the peer takes leave; nil if it does not

	wait atomic.Pointer[preface] // nil once the peer has spoken HTTP/2, or never will

	// replied is a stream whose reply has arrived and is waited for (AwaitReply), and whose end
	// may follow in the same batch. Owned by the reader.
	replied *ClientStream
}

// ClientStream is one attempt of a call. Send and CloseSend may be called by one
// goroutine at a time, Recv by one, and both at once; the others by any.
type ClientStream struct {
	h2     h2.Stream
	client *Client
	ctx    context.Context
	call   *Call // nil once the request headers are sent

	mu sync.Mutex // guards what follows, except watched and sentEnd
	body
	length     contentLength // of the rest of the body
	headers    *response
	gotHeaders chan struct{} // closed when there are headers, or at the end; nil while nobody waits
	trailers   *response
	status     *status.Status
	lost       lostKind
	over       bool // the end is known

	watched bool // Call.Watched; immutable
	sentEnd bool // the sender's
}

// watchedClient stands between a connection that is watched and its owner, so that
// connections that are not watched are no larger for it.
type watchedClient struct {
	ClientEvents
	traffic
}

func (c *Client) traffic() *traffic {
	if w, ok := c.events.(*watchedClient); ok {
		return &w.traffic
	}
	return nil
}

// ClientEvents is told what happens to a connection. The methods may be called
// by any goroutine, with no lock held, and must not block.
type ClientEvents interface {
	// Begun says that the handshake is done and HTTP/2 begins, which the peer has not
	// answered yet. It is the first event, and Closed follows it in any case.
	Begun(*Client)
	// Draining says that the connection takes no new streams, before any
	// stream fails for it.
	Draining(GoAway)
	// Places says how many streams the peer lets be open at a time, where it says so,
	// whenever it does.
	Places(n uint32)
	// Closed says that the connection is gone, before its streams are told. It
	// is called exactly once for a connection that has begun, and may come
	// before Connect returns.
	Closed(err error)
	// Unparkable says that the connection turned out to be one that can't be parked. It must not block.
	Unparkable(why string)
}

// GoAway is how the peer took leave of a connection.
type GoAway struct {
	code  frame.ErrCode
	debug string
}

// preface is the wait for the peer to show that it speaks HTTP/2.
type preface struct {
	settled chan struct{} // closed when that is known
	spoke   bool          // whether it has shown it; written before settled is closed
}

// lostKind says what became of a stream that ended without trailers.
type lostKind uint8

const (
	notLost       lostKind = iota
	lostMaybeSeen          // the peer may have acted on it
	lostUnseen             // the peer certainly has not
)
