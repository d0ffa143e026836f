// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"google.golang.org/grpc/internal/clock"
	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/peer"
)

// NewServer serves calls on nc. The handshake of nc is done and has yielded p, which is not changed from
// now on. The values of ctx are visible in every call's context. The end of ctx has no effect: see ConnContext.
func NewServer(ctx context.Context, nc net.Conn, p *peer.Peer, host *ServerHost) *Server {
	s := &Server{host: host, special: &ordinary, peer: p}
	if shares := readyreader.Find(nc, sharesPort) != nil; shares || ctx != ordinary.ctx || agesOut(&host.Keepalive) {
		s.special = &special{ctx: ctx, shares: shares}
	}
	s.conn = h2.New(adopt(nc), h2.Server, &host.h2, (*serverHandler)(s))
	if k := &host.Keepalive; agesOut(k) {
		s.special.age = &ageTimers{conn: s.conn, cfg: k}
	}
	opened(s.conn)
	return s
}

// sharesPort reports whether a connection says that other protocols are served on its port: see package oneport.
func sharesPort(nc net.Conn) bool { _, shares := nc.(interface{ SharesPort() }); return shares }

// SetSocketOptions sets the options of the socket that carries raw, which is the connection as it was
// accepted. It is called after the handshake, which may find that the connection is somebody else's.
func (c *ServerConfig) SetSocketOptions(raw net.Conn) {
	c.setSocketOptions(raw, c.h2.Keepalive.Timeout, c.Keepalive.Timeout > 0)
}

// Start begins to read. No method of the handler is called before that, but ConnClosed and ConnTold if Close is.
func (s *Server) Start() { s.StartAfter(0) }

// StartAfter is Start for a connection whose handshake took spent of the time that HandshakeTimeout allows for both.
func (s *Server) StartAfter(spent time.Duration) {
	s.special.age.start()
	s.conn.StartAfter(spent)
}

// Peer returns the other end. Its fields must not be changed.
func (s *Server) Peer() *peer.Peer { return s.peer }

// ConnContext returns the context of the call's connection if that may end, and otherwise nil.
func (s *ServerStream) ConnContext() context.Context {
	if ctx := s.server.special.ctx; ctx.Done() != nil {
		return ctx
	}
	return nil
}

// ConnErr returns an error if the context of the call's connection has ended.
func (s *ServerStream) ConnErr() error { return ctxOver(s.server.special.ctx) }

// Context returns the context of the connection, which has the values that stats handlers put there.
func (s *Server) Context() context.Context { return s.special.ctx }

// Watch makes the connection count what it carries: see ConnStats. It must be called before Start.
func (s *Server) Watch() {
	own := *s.special
	own.traffic = new(traffic)
	s.special = &own
}

// Stats returns the state of the connection.
func (s *Server) Stats() ConnStats { return statsOf(s.conn, s.traffic()) }

// WhyNot returns why the connection can't be parked, or "" if it can be.
func (s *Server) WhyNot() string { return whyNot(s.conn) }

// System returns access to the connection's socket, or nil if it is not known to be over one.
func (s *Server) System() syscall.RawConn { return s.conn.System() }

// Close ends the connection at once; the contexts of its calls are cancelled.
func (s *Server) Close(err error) { s.conn.Close(err) }

// Drain sends the client a GOAWAY: calls that are open or on their way are served to their end, then the
// connection closes. debug tells the client why.
func (s *Server) Drain(debug string) { s.conn.Drain(frame.NoError, debug) }

// serverHandler is the Server as its connection's handler.
type serverHandler Server

// Accept implements h2.Handler.
func (h *serverHandler) Accept(b *h2.HeaderBlock, end bool) (*h2.Stream, error) {
	st, err := h.accept(b, end)
	if t := h.special.traffic; t != nil && err != nil {
		if e, ok := errors.AsType[frame.Error](err); ok {
			t.streamFailed(&h2.StreamError{Code: e.Code, Reason: e.Reason})
		}
	}
	return st, err
}

func (h *serverHandler) accept(b *h2.HeaderBlock, end bool) (*h2.Stream, error) {
	req, err := parseRequest(b, h.host.ServerConfig)
	if err != nil {
		return nil, err
	}
	if end && req.length > 0 {
		return nil, malformed("less than content-length says")
	}
	if req.refusal != nil && req.refusal.foreign && h.special.shares {
		h.conn.Drain(frame.NoError, "this connection serves gRPC alone")
		return nil, frame.Error{Code: frame.RefusedStream, Reason: "no request of gRPC: another connection serves it"}
	}
	s := newServerStream((*Server)(h), req, end)
	if t := grpcwire.Timeout(b.Note()); t.IsSet() && req.refusal == nil {
		s.asContext().setDeadline(t.Duration())
	}
	return &s.h2, nil
}

// Opened implements h2.Handler. A call is started when its message is complete
// or the batch ends, whichever is first: most unary handlers then find their
// message there, and a call that was reset within the batch is never started, unless
// some of its body has arrived.
func (h *serverHandler) Opened(st *h2.Stream, end bool) {
	s := (*ServerStream)(st.Receiver().(*serverReceiver)) // Accept made it
	if end {
		s.start()
		return
	}
	h.hold(s)
}

// hold puts s at the end of the ring.
func (h *serverHandler) hold(s *ServerStream) {
	s.held = s
	if h.held != nil {
		s.held, h.held.held = h.held.held, s
	}
	h.held = s
}

// BatchEnd implements h2.Handler.
func (h *serverHandler) BatchEnd() { h.each((*ServerStream).start) }

// each empties the ring, and calls f for each stream that was in it.
func (h *serverHandler) each(f func(*ServerStream)) {
	last := h.held
	if last == nil {
		return
	}
	h.held = nil
	s := last.held
	for last.held = nil; s != nil; {
		next := s.held
		s.held = nil // not to keep the others alive
		f(s)
		s = next
	}
}

// Ready implements h2.Handler.
func (h *serverHandler) Ready() {}

// PingReceived implements h2.Handler.
func (h *serverHandler) PingReceived(streams int, sent bool) error {
	p := pingCount{h.lastPing, h.strikes}
	err := p.ping(&h.host.Policy, clock.Now(), streams, sent)
	h.lastPing, h.strikes = p.last, p.strikes
	return err
}

// AliveAsked implements h2.Handler.
func (h *serverHandler) AliveAsked() { (*Server)(h).traffic().keepaliveSent() }

// GoAway implements h2.Handler.
func (h *serverHandler) GoAway(frame.ErrCode, []byte) {}

// Closed implements h2.Handler.
func (h *serverHandler) Closed(err error) {
	h.each((*ServerStream).forsake)
	closed(h.conn)
	drainWaits.forget(h.conn)
	h.special.age.stop()
	h.host.Handler.ConnClosed((*Server)(h), err)
}

// Told implements h2.EndHandler.
func (h *serverHandler) Told() { h.host.Handler.ConnTold((*Server)(h), h.conn.Cause()) }

func newServerStream(c *Server, req *request, end bool) *ServerStream {
	s, own := c.host.Handler.NewStream(req.method)
	if s == nil {
		s = new(ServerStream)
	}
	s.server, s.req, s.ended = c, req, end
	s.h2.Init((*serverReceiver)(s), serverStreamSize+own)
	s.asm.Init(&c.host.BufferPool, c.host.MaxRecvMsgSize)
	if req.length >= 0 {
		s.mutableCold().length = contentLength(req.length)
	}
	if s.handler.Context == nil {
		s.handler.Context = s.asContext()
	}
	c.traffic().streamBegan()
	return s
}

// Unwatched implements h2.ParkObserver.
func (h *serverHandler) Unwatched(err error) {
	if why := unwatchable(err); noteUnwatched(h.conn, why) {
		go func() { // it logs, and the program's logger may end the goroutine
			tellUnwatched(err)
			h.host.Handler.Unparkable((*Server)(h), why)
		}()
	}
}

// Watched implements h2.ParkObserver.
func (h *serverHandler) Watched() { noteWatched(h.conn) }
