// SPDX-License-Identifier: Apache-2.0

// Package servercontrol looks at a server from outside, and drains it: all of it within a time, or
// single connections.
//
//	var control servercontrol.Control
//	server := grpc.NewServer(control.Option())
//	...
//	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
//	defer cancel()
//	if err := control.GracefulStop(ctx); err != nil {
//		log.Print(err) // which RPCs are left, whose, and how old they are
//		server.Stop()
//	}
//
// # Semantics
//
// [Control.GracefulStop] is Server.GracefulStop with an end: when the context ends it returns, and
// the server is as it was: it drains, and goes on to serve what is left. To call it again is to
// wait again, to call Stop is to cut it short, as with http.Server and its Shutdown. It does not
// wait for connections that have said nothing, not even which HTTP/2 they speak, as those that a
// load balancer opens ahead: they hear that nothing is served, and are closed within a second.
// A client that does not answer at all, and has no RPC, is waited for 6 seconds.
//
// An RPC is listed from the moment at which its handler, or its interceptors, are about to run,
// until they have returned; if its stream was handed over (package experimental/streams), until
// its OnDone has returned. An RPC that is over, but whose client does not read the end, is not
// listed, and its connection is.
//
// # Edges
//
//   - Each attempt of an RPC that its client retries or hedges is listed by itself.
//   - Behind ServeHTTP RPCs are listed, connections are net/http's: GracefulStop waits for the RPCs.
//   - With a server of package xds, give the option to xds.NewGRPCServer. GracefulStop ends its
//     watches, too. Call that server's Stop as well: it gives back the client of the control plane.
//   - RPCs that are refused before a handler runs (unknown methods, limits) are not listed.
//   - bufconn, unix sockets and TLS are as TCP.
//   - A server with the option notes each RPC and connection in a map: some 0.3 us and 200 bytes of
//     an RPC while it is under way, and 350 bytes of a connection. A server without it does not.
//
// All of this may change or go in a later release.
package servercontrol

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/internal/control"
	"google.golang.org/grpc/peer"
)

// Control controls one server, the one that its Option is given to. The zero value is ready. Its
// methods may be called by any goroutine.
type Control struct {
	mu     sync.Mutex
	server control.Server // nil: the server is not made yet
}

// Option has the Control control the server that is made with it.
func (c *Control) Option() grpc.ServerOption { return option{control: c} }

// option is known to package grpc by its method.
type option struct {
	grpc.EmptyServerOption
	control *Control
}

func (o option) Control(s control.Server) {
	o.control.mu.Lock()
	defer o.control.mu.Unlock()
	o.control.server = s
}

func (c *Control) get() control.Server {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.server
}

// ErrNoServer says that no server was made with the Control's Option.
var ErrNoServer = errors.New("servercontrol: no server has been made with this option")

// GracefulStop stops the server as its method of that name does, but waits no longer than until ctx
// ends: then the error is an [*UnfinishedError], and the server goes on draining.
func (c *Control) GracefulStop(ctx context.Context) error {
	s := c.get()
	if s == nil {
		return ErrNoServer
	}
	conns, err := s.GracefulStop(ctx)
	if err != nil {
		return &UnfinishedError{RPCs: c.RPCs(), Conns: conns, Cause: err}
	}
	return nil
}

// UnfinishedError says what a server still had to do when the time was over.
type UnfinishedError struct {
	RPCs  []RPC // oldest first
	Conns int   // with or without an RPC
	Cause error // of the context's end
}

// listed is how many RPCs an error names.
const listed = 5

// Error names the oldest RPCs.
func (e *UnfinishedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the server has not finished (%v): %d RPCs and %d connections are left", e.Cause, len(e.RPCs), e.Conns)
	for i, rpc := range e.RPCs {
		if i == listed {
			b.WriteString(", ...")
			break
		}
		fmt.Fprintf(&b, "%s %s of %v for %v", [2]string{":", ","}[min(i, 1)], rpc.Method, rpc.Peer.Addr, time.Since(rpc.Began).Round(time.Millisecond))
	}
	return b.String()
}

// Unwrap returns the cause: errors.Is finds context.DeadlineExceeded.
func (e *UnfinishedError) Unwrap() error { return e.Cause }

// RPC is one that is under way.
type RPC struct {
	Method string // "/package.Service/Method"
	Peer   *peer.Peer
	Began  time.Time
	Conn   uint64 // the ID of its connection; 0 behind net/http
}

// RPCs returns those that are under way, the oldest first.
func (c *Control) RPCs() []RPC { return c.rpcs(func(*RPC) bool { return true }) }

func (c *Control) rpcs(wanted func(*RPC) bool) []RPC {
	s := c.get()
	if s == nil {
		return nil
	}
	ids := make(map[any]uint64)
	for _, conn := range s.Conns() {
		ids[conn.Link] = conn.ID
	}
	var list []RPC
	for _, r := range s.RPCs() {
		rpc := RPC{Method: r.Method, Peer: r.Peer, Began: r.Began, Conn: ids[r.Conn]}
		if wanted(&rpc) {
			list = append(list, rpc)
		}
	}
	slices.SortFunc(list, func(a, b RPC) int { return a.Began.Compare(b.Began) })
	return list
}

// Conns returns the server's connections, the oldest first.
func (c *Control) Conns() []*Conn {
	s := c.get()
	if s == nil {
		return nil
	}
	var list []*Conn
	for _, conn := range s.Conns() {
		list = append(list, &Conn{control: c, conn: conn})
	}
	slices.SortFunc(list, func(a, b *Conn) int { return cmp.Compare(a.conn.ID, b.conn.ID) })
	return list
}

// LostConn is a connection that ended by an error: the client reset it or vanished, or one of both
// sides broke a rule of HTTP/2.
type LostConn struct {
	ID           uint64
	Addr         net.Addr // of the client; nil: not known
	Began, Ended time.Time
	Err          error
}

// Lost returns the last connections, up to 16, that ended by an error, the oldest first. Those that
// a side has closed as connections are closed are not among them.
func (c *Control) Lost() []LostConn {
	s := c.get()
	if s == nil {
		return nil
	}
	var list []LostConn
	for _, l := range s.Lost() {
		list = append(list, LostConn(l))
	}
	return list
}

// Conn returns the connection with an ID, nil if it is closed.
func (c *Control) Conn(id uint64) *Conn {
	for _, conn := range c.Conns() {
		if conn.ID() == id {
			return conn
		}
	}
	return nil
}

// Conn is a connection of a server. Its methods may be called also after its end.
type Conn struct {
	control *Control
	conn    control.Conn
}

// ID tells connections apart. It is of the process, and never used again.
func (c *Conn) ID() uint64 { return c.conn.ID }

// Began is when its handshake was done.
func (c *Conn) Began() time.Time { return c.conn.Began }

// Peer is the client. Its fields must not be changed.
func (c *Conn) Peer() *peer.Peer { return c.conn.Link.Peer() }

// Status is how a connection stands at a moment.
type Status struct {
	Streams     int    // that are open
	Parked      bool   // it has neither a goroutine nor a buffer
	NotParkable string // why it can't be parked; "" if it can
	BytesHeld   int    // memory, in bytes, of what came from the client or waits to be sent
	SendWindow  uint32 // bytes of DATA that may be sent on all streams together
	RecvWindow  uint32 // bytes that the client may send

	// RoundTrip is TCP's smoothed estimate; 0 where it is not known: over other sockets, and on
	// systems other than Linux and macOS.
	RoundTrip time.Duration

	// LastError is why an RPC of the connection last ended before its time by the client's fault or
	// ours, with the exception of cancellations; "" if none has. When the connection has ended
	// it is why that has. LastErrorAt is the time of the former.
	LastError   string
	LastErrorAt time.Time

	Draining bool // GOAWAY was said
	Silent   bool // the client has not said anything so far
}

// Status looks at the connection.
func (c *Conn) Status() Status { return Status(c.conn.Link.Status()) }

// RPCs returns the connection's, the oldest first.
func (c *Conn) RPCs() []RPC {
	return c.control.rpcs(func(r *RPC) bool { return r.Conn == c.conn.ID })
}

// Drain tells the client to make no new RPCs on the connection, which closes when those that are
// under way are over. Their handlers can learn of it by package experimental/drain. It returns at
// once.
func (c *Conn) Drain() { c.conn.Link.Drain("drained by the server's owner") }

// Close closes the connection at once. Its RPCs fail with code Unavailable at the client, and the
// contexts of their handlers end.
func (c *Conn) Close() { c.conn.Link.Close(errClosed) }

var errClosed = errors.New("closed by the server's owner")
