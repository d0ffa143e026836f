// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/acceptor"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/shrink"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// Serve accepts connections from lis, and serves the RPCs on them, each on a goroutine of its own. It
// may be called for several listeners at once. It returns an error when lis fails; errors that say
// they are temporary make it try again. It returns nil when Stop or GracefulStop has done its work,
// and [ErrServerStopped] if the server was stopped before the call. In all three cases it closes lis.
//
// TCP connections keep the settings that the listener gave them. Go's own listeners turn on keepalive
// probes of the operating system, which [net.ListenConfig] can change.
func (s *Server) Serve(lis net.Listener) error {
	// The listener is asked for its address here, as a program's may wait.
	l := &served{lis, channelz.NewSocket(s.channelz, channelz.Listener, transport.ListenerSocket(lis))}
	if !s.addListener(l) {
		l.close() // nobody will use it
		return ErrServerStopped
	}
	defer s.removeListener(l)
	a := acceptor.Acceptor{Take: s.take, Over: s.isOver, Done: s.stopped, Pausing: func(err error, pause time.Duration) {
		logger.Warningf("grpc: accepting failed, trying again in %v: %v", pause, err)
	}}
	if err := a.Run(lis); err != nil {
		return err
	}
	<-s.stopped
	return nil
}

// take begins to serve a new connection.
func (s *Server) take(raw net.Conn) {
	h := &handshake{raw: raw}
	if s.opts.limits.accept(h) && s.addHandshake(h) {
		go s.handshake(h)
		return
	}
	s.opts.limits.release(h)
	_ = raw.Close() // nothing was said on it
}

func (s *Server) isOver() bool { return s.stateNow() != serverRunning }

func (s *Server) stateNow() serverState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// addListener returns false if the server has been stopped.
func (s *Server) addListener(l *served) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
	if s.state != serverRunning {
		return false
	}
	s.listeners[l] = struct{}{}
	return true
}

// removeListener closes l, unless the server closed it when it was stopped.
func (s *Server) removeListener(l *served) {
	s.mu.Lock()
	_, ours := s.listeners[l]
	delete(s.listeners, l)
	s.mu.Unlock()
	if ours {
		l.close() // its Accept has failed
	}
}

// addHandshake takes over a new connection. It returns false if the server has been stopped. Otherwise endHandshake
// must follow.
func (s *Server) addHandshake(h *handshake) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != serverRunning {
		return false
	}
	s.handshakes[h] = struct{}{}
	h.counted = true
	s.shaking++
	return true
}

// handshake turns a new connection into one that serves RPCs. It runs on a goroutine of its own.
// After that the connection has a goroutine only while it needs one.
func (s *Server) handshake(h *handshake) {
	returned := false
	defer func() {
		if !returned { // credentials or a stats handler called runtime.Goexit
			_ = h.raw.Close()
		}
		s.endHandshake(h)
	}()
	s.establish(h)
	returned = true
}

// establish does what handshake says, as far as the program's code returns.
func (s *Server) establish(h *handshake) {
	raw, begin := h.raw, time.Now()
	nc, p, err := s.shake(h)
	if err != nil {
		s.failHandshake(h, err)
		return
	}
	router, drain, err := s.routerOf(raw)
	if err != nil {
		s.opts.limits.release(h)
		logger.Warningf("grpc: the connection with %v is refused: %v", p.Addr, err)
		_ = nc.Close()
		return
	}
	s.host.SetSocketOptions(raw)
	ctx := s.beginConn(context.Background(), p)
	if router != nil {
		ctx = rpcconfig.NewConnContext(ctx, router)
	}
	c := transport.NewServer(ctx, nc, p, &s.host)
	if s.channelz != nil || s.opts.control.tracker != nil {
		c.Watch()
	}
	if !s.addConn(h, c) {
		c.Close(errStopping)
		s.endConn(ctx)
		return
	}
	func() {
		defer drain.started(c)
		defer s.started(c) // also if a wrapper's Write ends the goroutine
		c.StartAfter(time.Since(begin))
	}()
	if why := c.WhyNot(); why != "" {
		(*serverHandler)(s).Unparkable(c, why)
	}
}

// errRefused is the reason for closing a connection that a limit or the Source refuses. They log what is to be said.
// errSlow is the reason for closing one that takes too long.
var (
	errRefused = errors.New("the connection is refused")
	errSlow    = errors.New("it takes longer than ConnectionTimeout")
)

// shake does what comes before the first byte of HTTP/2, within the time that ConnectionTimeout allows. All of
// it may wait for the peer: some connections, such as those of the PROXY protocol, read when they are asked
// for an address.
func (s *Server) shake(h *handshake) (nc net.Conn, p *peer.Peer, err error) {
	limit := s.opts.transport.HandshakeTimeout
	end := time.Now().Add(limit)
	// A deadline is not enough. Such connections bring deadlines of their own, and others, such as the
	// channels of SSH, have none.
	timer := time.AfterFunc(limit, func() { h.raw.Close() })
	defer func() {
		if timer.Stop() || errors.Is(err, credentials.ErrConnDispatched) {
			return
		}
		err = errSlow
		if nc != nil {
			_ = nc.Close() // what it is over is closed already
		}
	}()
	if !s.admits(h.raw) || !s.opts.limits.admit(h) {
		return nil, nil, errRefused
	}
	nc, auth, err := s.secure(h.raw, end)
	if err != nil {
		return nil, nil, err
	}
	return nc, &peer.Peer{Addr: nc.RemoteAddr(), LocalAddr: nc.LocalAddr(), AuthInfo: auth}, nil
}

// secure runs the handshake of the credentials until end.
func (s *Server) secure(raw net.Conn, end time.Time) (net.Conn, credentials.AuthInfo, error) {
	creds := s.opts.transport.Creds
	if creds == nil {
		return raw, nil, nil
	}
	_ = raw.SetDeadline(end) // a connection that returns an error has none
	nc, auth, err := creds.ServerHandshake(raw)
	if err == nil || errors.Is(err, credentials.ErrConnDispatched) { // who has it now knows nothing of the deadline
		_ = raw.SetDeadline(time.Time{})
	}
	return nc, auth, err
}

// failHandshake gives up a connection because of err.
func (s *Server) failHandshake(h *handshake, err error) {
	s.opts.limits.release(h)
	if errors.Is(err, credentials.ErrConnDispatched) {
		return // it belongs to somebody else now
	}
	_ = h.raw.Close()                                // before RemoteAddr, which may wait for the peer otherwise
	if err == errRefused || errors.Is(err, io.EOF) { // io.EOF is a port scan, or the health check of a load balancer
		return
	}
	// Anybody who reaches the port makes handshakes fail: that is no warning.
	logger.Infof("grpc: the handshake with %v failed: %v", h.raw.RemoteAddr(), err)
	s.channelz.Trace(channelz.Warning, fmt.Sprintf("handshake with %v failed: %v", h.raw.RemoteAddr(), err), nil)
}

// endHandshake is called when nothing more of the program's runs for a handshake.
func (s *Server) endHandshake(h *handshake) {
	s.opts.limits.release(h)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetHandshakeLocked(h)
	if s.openConns() == 0 {
		s.empty.Broadcast()
	}
}

// forgetHandshakeLocked ends the count of a handshake, unless addConn has. The caller holds mu.
func (s *Server) forgetHandshakeLocked(h *handshake) {
	if h.counted {
		h.counted = false
		s.shaking--
		s.handshakes = shrink.Delete(s.handshakes, h, &s.most.handshakes)
	}
}

// addConn moves a connection from handshakes to conns. It returns false if the server was stopped during
// the handshake. If it began to drain, started drains the connection.
func (s *Server) addConn(h *handshake, c *transport.Server) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == serverStopped {
		return false // endHandshake follows
	}
	s.forgetHandshakeLocked(h)
	var socket *channelz.Socket
	if s.channelz != nil { // otherwise its source need not be allocated
		socket = channelz.NewSocket(s.channelz, channelz.Connection, transport.ConnSocket(c, ""))
	}
	s.conns.add(c, socket)
	s.opts.control.tracker.BeginConn(c)
	s.opts.limits.hold(h, c)
	s.starting[c] = struct{}{}
	return true
}

// started records that c has started and so can be told to end. If the server was stopped in the
// meantime, started tells it.
func (s *Server) started(c *transport.Server) {
	s.mu.Lock()
	s.starting = shrink.Delete(s.starting, c, &s.most.starting)
	state, leavesSilent := s.state, s.leavesSilent
	s.mu.Unlock()
	switch state {
	case serverDraining:
		c.Drain(drainReason)
		if leavesSilent {
			c.EndSilentDrain()
		}
	case serverStopped:
		c.Close(errStopping)
	}
}

// beginConn tells the stats handlers that a connection begins. It returns the context that the contexts of
// the connection's RPCs derive from. All handlers tag the context before the first is told ConnBegin.
func (s *Server) beginConn(ctx context.Context, p *peer.Peer) context.Context {
	if len(s.opts.stats) > 0 {
		ctx = peer.NewContext(ctx, p)
	}
	for _, h := range s.opts.stats {
		ctx = h.TagConn(ctx, &stats.ConnTagInfo{RemoteAddr: p.Addr, LocalAddr: p.LocalAddr})
	}
	for _, h := range s.opts.stats {
		h.HandleConn(ctx, &stats.ConnBegin{})
	}
	return ctx
}

func (s *Server) endConn(ctx context.Context) {
	for _, h := range s.opts.stats {
		h.HandleConn(ctx, &stats.ConnEnd{})
	}
}

// NewStream implements transport.ServerHandler.
func (h *serverHandler) NewStream(m transport.Method) (st *transport.ServerStream, own int) {
	if m, ok := m.(*method); ok && m.stream != nil {
		return newStreamingCall()
	}
	return nil, 0
}

// Refuses implements transport.ServerHandler.
func (h *serverHandler) Refuses(st *transport.ServerStream) *status.Status {
	return (*Server)(h).refuse(st)
}

// HandleStream implements transport.ServerHandler.
func (h *serverHandler) HandleStream(st *transport.ServerStream) { (*Server)(h).serveCall(st) }

// Unparkable implements transport.ServerHandler.
func (h *serverHandler) Unparkable(c *transport.Server, why string) {
	if logger.V(2) {
		logger.Infof("grpc: the connection with %v keeps a goroutine and a buffer while it is idle: %s", c.Peer().Addr, why)
	}
}

// ConnClosed implements transport.ServerHandler.
func (h *serverHandler) ConnClosed(c *transport.Server, err error) {
	s := (*Server)(h)
	failure := transport.Failure(err)
	s.mu.Lock()
	socket, known := s.conns.remove(c)
	if known { // before openConns can become 0: a goroutine that waits for that looks at both
		s.opts.control.tracker.EndConn(c, failure)
		s.opts.limits.release(c)
		s.telling++
		c.Place = placeTelling
	}
	s.mu.Unlock()
	if known {
		socket.Close()
	}
}

// ConnTold implements transport.ServerHandler. Who waits for the connection's end may expect that the
// contexts of its RPCs have ended.
func (h *serverHandler) ConnTold(c *transport.Server, err error) {
	s := (*Server)(h)
	s.mu.Lock()
	known := c.Place == placeTelling
	s.mu.Unlock()
	if !known {
		return // it was in no set
	}
	defer s.told(c) // also if a stats handler ends the goroutine
	s.endConn(c.Context())
	if logger.V(2) {
		logger.Infof("grpc: the connection with %v is closed: %v", c.Peer().Addr, err)
	}
}

// told counts a connection as ended.
func (s *Server) told(c *transport.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Place = 0
	s.telling--
	if s.openConns() == 0 {
		s.empty.Broadcast()
	}
}

// connSet is the connections of a server. It takes one word for each, as most of them are idle. The
// server's mu guards it, and the field Place of each connection in it: its index plus one, or 0 for a
// connection in no set, or placeTelling.
type connSet struct {
	list    []*transport.Server
	sockets map[*transport.Server]*channelz.Socket // nil while channelz is off
	most    int                                    // see shrink.Delete
}

// placeTelling is the Place of a connection that is counted in Server.telling.
const placeTelling = -1

func (s *connSet) len() int { return len(s.list) }

// add adds c. socket may be nil.
func (s *connSet) add(c *transport.Server, socket *channelz.Socket) {
	s.list = append(s.list, c)
	c.Place = int32(len(s.list))
	if socket == nil {
		return
	}
	if s.sockets == nil {
		s.sockets = make(map[*transport.Server]*channelz.Socket)
	}
	s.sockets[c] = socket
}

// remove returns c's socket, and whether c was in the set.
func (s *connSet) remove(c *transport.Server) (socket *channelz.Socket, known bool) {
	if c.Place <= 0 {
		return nil, false
	}
	last := len(s.list) - 1
	moved := s.list[last]
	s.list[c.Place-1], moved.Place = moved, c.Place
	s.list[last], c.Place = nil, 0
	s.list = shrink.Slice(s.list[:last])
	socket = s.sockets[c]
	s.sockets = shrink.Delete(s.sockets, c, &s.most)
	return socket, true
}

// served is a listener that Serve was called with. handshake is a connection whose handshake is not
// over. Maps have pointers to them as keys: the program's listeners and connections may have types
// that can't be compared.
type (
	served struct {
		lis    net.Listener
		socket *channelz.Socket
	}
	handshake struct {
		raw     net.Conn
		counted bool // in Server.shaking; the server's mu guards it
	}
)

func (l *served) close() {
	l.socket.Close()
	_ = l.lis.Close() // nobody uses it any more, whatever Close returns
}

// ServeHTTP serves the RPC of the request r, so that a server of package net/http can serve gRPC and
// other requests on one port. r must have come over HTTP/2. ServeHTTP is slower than Serve. Options
// about connections (keepalive, windows, limits of streams) have no effect, as the connections
// belong to net/http, and so does TLS.
//
// GracefulStop waits for such RPCs, and Stop cancels their contexts; net/http keeps the connections.
//
// Experimental: this API may change in a later release.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	st := transport.NewHandlerStream(w, r, &s.host)
	if st == nil {
		return // r is not an RPC, and has been answered
	}
	defer st.Release()
	if !s.addHTTP(st) {
		_ = st.Finish(stoppingStatus) // the client may be gone too
		return
	}
	defer s.removeHTTP(st)
	if len(s.opts.stats) > 0 {
		// Each call behind net/http counts as a connection of its own for stats handlers.
		st.Derive(func(ctx context.Context) context.Context { return s.beginConn(ctx, st.Peer()) })
		defer func() {
			if st.Owner() == nil { // otherwise handedStream.Done ends it, after the call
				s.endConn(st.Context())
			}
		}()
	}
	s.serveCall(st)
	st.Serve()
}

func (s *Server) addHTTP(st *transport.HandlerStream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
	if s.state != serverRunning {
		return false
	}
	s.httpCalls[st] = struct{}{}
	return true
}

func (s *Server) removeHTTP(st *transport.HandlerStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.httpCalls = shrink.Delete(s.httpCalls, st, &s.most.httpCalls)
}
