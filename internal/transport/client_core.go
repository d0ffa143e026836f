// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

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
	peer      *peer.Peer // allocated apart from the connection, because programs keep it

	leave atomic.Pointer[GoAway] // the peer's last GOAWAY; nil if it has sent none

	wait atomic.Pointer[preface] // nil once the peer has spoken HTTP/2, or never will

	// replied is a stream whose caller waits for the reply (AwaitReply). The reply has arrived, and the end
	// may follow in the same batch. Owned by the reader.
	replied *ClientStream

	lost *status.Status // lostStatus, once it is known; owned by whoever tells the streams that the connection is lost
}

// ClientStream is one attempt of a call. One goroutine at a time may call Send and CloseSend, and one may
// call Recv; the two may run at once. Any goroutine may call the other methods.
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
	sentEnd bool // owned by the goroutine that sends
}

// watchedClient stands between a watched connection and its owner, so that connections that nobody watches
// are no larger for it.
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

// ClientEvents receives what happens to a connection. Any goroutine may call the methods, with no lock
// held. They must not block.
type ClientEvents interface {
	// Begun says that the handshake is done and HTTP/2 begins. The peer has not answered yet. Begun is the
	// first event, and Closed always follows it.
	Begun(*Client)
	// Draining says that the connection takes no new streams. It comes before any stream fails because of
	// that.
	Draining(GoAway)
	// Places says how many streams the peer allows to be open at a time. It comes whenever the peer says
	// so.
	Places(n uint32)
	// Closed says that the connection is gone. It comes before the streams are told, exactly once for a
	// connection that has begun, and may come before Connect returns.
	Closed(err error)
	// Told follows Closed, once the streams are told.
	Told(err error)
	// Unparkable says that the connection turned out to be one that can't be parked. It must not block.
	Unparkable(why string)
}

// GoAway is what the peer has said in a GOAWAY frame.
type GoAway struct {
	code      frame.ErrCode
	debug     string
	keepalive time.Duration // of the connection
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
