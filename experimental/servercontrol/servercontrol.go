// SPDX-License-Identifier: Apache-2.0

// Package servercontrol inspects a server from outside, and drains it: the whole server within a time
// limit, or single connections.
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
// [Control.GracefulStop] is Server.GracefulStop with a limit: it returns when the context ends. The
// server then goes on draining, and serves what is left. After that the program may call GracefulStop
// again to wait again, or Stop to end what is left, as with http.Server and its Shutdown. It does not
// wait for connections on which the client has sent nothing, not even its first SETTINGS, such as those
// that a load balancer opens ahead: it tells these clients that no RPC is served, and closes the
// connections within a second. For a client that does not answer at all, and has no RPC, it waits for 6
// seconds, and for one that does not end its TLS handshake for 5. For a client that takes nothing of what
// it is sent it waits until keepalive, or the system, gives the connection up.
//
// An RPC is listed from just before its handler and its interceptors run, or a tap before them, until they have returned. If
// its stream was handed over (package experimental/streams), it is listed until its OnDone has returned.
// An RPC that is over, but whose client does not read the end, is not listed, but its connection is.
//
// # Edges
//
//   - Each attempt of an RPC that its client retries or hedges is listed separately.
//   - Behind ServeHTTP RPCs are listed, but connections belong to net/http: GracefulStop waits for the
//     RPCs.
//   - With a server of package xds, pass the option to xds.NewGRPCServer. GracefulStop also ends its
//     watches. Call that server's Stop as well: it releases the client of the control plane.
//   - RPCs that are refused before a handler runs (unknown methods, limits) are not listed, or only until they are
//     refused.
//   - bufconn, unix sockets and TLS work as TCP does.
//   - A server with the option has a map of its RPCs and connections. It costs some 0.3 us and 200 bytes
//     for an RPC while it is under way, and 350 bytes for a connection. A server without it pays nothing.
//
// All of this may change, or be removed, in a later release.
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

// Control controls the one server that its Option is passed to. The zero value is ready for use. Several
// goroutines may call its methods at the same time.
type Control struct {
	mu     sync.Mutex
	server control.Server // nil: the server has not been made yet
}

// Option returns a ServerOption that lets c control the server that is made with it.
func (c *Control) Option() grpc.ServerOption { return option{control: c} }

// option is an option that package grpc recognises by its method.
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

// ErrNoServer says that no server has been made with the Control's Option.
var ErrNoServer = errors.New("servercontrol: no server has been made with this option")

// GracefulStop stops the server as the server's own GracefulStop does, but waits at most until ctx ends.
// The error is then an [*UnfinishedError], and the server goes on draining.
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

// UnfinishedError says what a server still had to do when GracefulStop's context ended.
type UnfinishedError struct {
	RPCs  []RPC // oldest first
	Conns int   // with or without an RPC
	Cause error // the cause of the context's end
}

// listed is how many RPCs Error names.
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

// Unwrap returns the cause, so that errors.Is finds context.DeadlineExceeded, for example.
func (e *UnfinishedError) Unwrap() error { return e.Cause }

// RPC is an RPC that is under way.
type RPC struct {
	Method string // "/package.Service/Method"
	Peer   *peer.Peer
	Began  time.Time
	Conn   uint64 // the ID of its connection; 0 behind net/http, or if the connection has ended
}

// RPCs returns the server's RPCs that are under way, oldest first.
func (c *Control) RPCs() []RPC { return c.rpcs(func(any) bool { return true }) }

// rpcs lists the RPCs of wanted connections, by their Links.
func (c *Control) rpcs(wanted func(link any) bool) []RPC {
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
		if wanted(r.Conn) {
			list = append(list, RPC{Method: r.Method, Peer: r.Peer, Began: r.Began, Conn: ids[r.Conn]})
		}
	}
	slices.SortFunc(list, func(a, b RPC) int { return a.Began.Compare(b.Began) })
	return list
}

// Conns returns the server's connections, oldest first.
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

// LostConn is a connection that ended by an error: the client reset the connection or vanished, or either
// side broke a rule of HTTP/2.
type LostConn struct {
	ID           uint64
	Addr         net.Addr // of the client; nil: not known
	Began, Ended time.Time
	Err          error
}

// Lost returns the last connections, up to 16, that ended by an error, oldest first. Connections that a
// side has closed in the usual way are not among them.
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

// Conn returns the connection with the ID, or nil if it is closed.
func (c *Control) Conn(id uint64) *Conn {
	for _, conn := range c.Conns() {
		if conn.ID() == id {
			return conn
		}
	}
	return nil
}

// Conn is a connection of a server. Its methods may also be called after the connection has ended.
type Conn struct {
	control *Control
	conn    control.Conn
}

// ID returns a number that identifies the connection in the process. It is never used again.
func (c *Conn) ID() uint64 { return c.conn.ID }

// Began returns when the connection's handshake was done.
func (c *Conn) Began() time.Time { return c.conn.Began }

// Peer returns the client. Do not change its fields.
func (c *Conn) Peer() *peer.Peer { return c.conn.Link.Peer() }

// Status is the state of a connection at a moment.
type Status struct {
	Streams     int    // how many are open
	Parked      bool   // it has neither a goroutine nor a buffer
	NotParkable string // why it can't be parked; "" if it can
	BytesHeld   int    // memory, in bytes, of what came from the client or waits to be sent
	SendWindow  uint32 // bytes of DATA that may be sent on all streams together
	RecvWindow  uint32 // bytes that the client may send

	// RoundTrip is TCP's smoothed estimate. It is 0 if that is not known: for other sockets, and on
	// systems other than Linux and macOS.
	RoundTrip time.Duration

	// LastError says why an RPC of the connection last ended early through the fault of the client or
	// the server, cancellations excepted; "" if none has. Once the connection has ended, it says why
	// the connection has. LastErrorAt is when that RPC ended.
	LastError   string
	LastErrorAt time.Time

	Draining bool // GOAWAY has been sent
	Silent   bool // the client's SETTINGS have not arrived yet
}

// Status returns the present state of the connection.
func (c *Conn) Status() Status { return Status(c.conn.Link.Status()) }

// RPCs returns the connection's RPCs that are under way, oldest first.
func (c *Conn) RPCs() []RPC {
	return c.control.rpcs(func(link any) bool { return link == c.conn.Link })
}

// Drain tells the client to begin no new RPCs on the connection, and returns at once. The connection closes
// when the RPCs that are under way are over. Package experimental/drain lets their handlers know that the
// connection drains.
func (c *Conn) Drain() { c.conn.Link.Drain("drained by the server's owner") }

// Close closes the connection at once. Its RPCs fail with code Unavailable at the client, and the
// contexts of their handlers end.
func (c *Conn) Close() { c.conn.Link.Close(errClosed) }

var errClosed = errors.New("closed by the server's owner")
