// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"net"
	"net/http"

	"google.golang.org/grpc/internal/clock"
	"google.golang.org/grpc/internal/tlsconn"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/warm"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// ServerHandler is what runs the calls of a connection.
type ServerHandler interface {
	// Refuses returns what a call ends with that no handler is to see, and nil for one
	// that HandleStream serves. The connection's reader calls it: it must not block.
	Refuses(*ServerStream) *status.Status
	// HandleStream serves one call to its end, on a goroutine of its own. It
	// has to end the stream with Finish or Reply, unless it was handed over.
	HandleStream(*ServerStream)
	// ConnClosed says that the connection is gone. Its streams are told after
	// that. It must not block.
	ConnClosed(c *Server, err error)
}

// Server is one connection that was accepted. It is safe for concurrent use.
type Server struct {
	conn    *h2.Conn
	cfg     *ServerConfig
	handler ServerHandler
	ctx     context.Context // of the connection: what stats handlers put there
	peer    peer.Peer
	age     *ageTimers

	// Owned by the reader.
	held     *ServerStream // opened in this batch, not started yet: the last of a ring
	lastPing int64         // with strikes, a pingCount
	strikes  int32

	// Place is the handler's own: where it keeps the connection.
	Place int32
}

// NewServer serves calls on nc, whose handshake is done and brought p. The
// values of ctx are those of every call's context; its end means nothing.
func NewServer(ctx context.Context, nc net.Conn, p *peer.Peer, cfg *ServerConfig, h ServerHandler) *Server {
	if _, ok := nc.(interface{ SharesPort() }); ok {
		h = &sharingServer{ServerHandler: h}
	}
	s := &Server{cfg: cfg, handler: h, ctx: ctx, peer: *p}
	s.conn = h2.New(tlsconn.Adopt(nc), h2.Server, &cfg.h2, (*serverHandler)(s))
	opened(s.conn)
	return s
}

// Start begins to read. Before it no method of the handler is called.
func (s *Server) Start() {
	s.age = startAge(s.conn, &s.cfg.Keepalive)
	s.conn.Start()
}

// Peer is the other end. Its fields must not be changed.
func (s *Server) Peer() *peer.Peer { return &s.peer }

// Context carries what belongs to the connection.
func (s *Server) Context() context.Context { return s.ctx }

// Watch has the connection count what it carries: see ConnStats. It is to be called
// before Start.
func (s *Server) Watch() { s.handler = &watchedServer{ServerHandler: s.handler} }

// Stats is how the connection stands.
func (s *Server) Stats() ConnStats { return statsOf(s.conn, s.traffic()) }

// WhyNot says why the connection can't be parked, "" if it can be.
func (s *Server) WhyNot() string { return s.conn.WhyNot() }

// Close ends the connection at once; the contexts of its calls are cancelled.
func (s *Server) Close(err error) { s.conn.Close(err) }

// Drain takes leave of the client: calls that are open or on their way are
// served to their end, then the connection closes. debug tells the client why.
func (s *Server) Drain(debug string) { s.conn.Drain(frame.NoError, debug) }

// Streams is how many calls are open.
func (s *Server) Streams() int { return s.conn.Streams() }

// watchedServer stands between a connection that is watched and its owner, so that
// connections that are not watched are no larger for it.
type watchedServer struct {
	ServerHandler
	traffic
}

func (s *Server) traffic() *traffic {
	if w, ok := s.handler.(*watchedServer); ok {
		return &w.traffic
	}
	return nil
}

// sharingServer marks the connections of a port that serves more than gRPC: see package
// experimental/oneport. A request for others is to come again, on another connection.
type sharingServer struct{ ServerHandler }

// sharesPort reports whether others serve what is no request of gRPC.
func (s *Server) sharesPort() bool {
	h := s.handler
	if w, ok := h.(*watchedServer); ok {
		h = w.ServerHandler
	}
	_, does := h.(*sharingServer)
	return does
}

// serverHandler is the Server as its connection's handler.
type serverHandler Server

// Accept implements h2.Handler.
func (h *serverHandler) Accept(b *h2.HeaderBlock, end bool) (*h2.Stream, error) {
	req, err := parseRequest(b, h.cfg.LaxPath)
	if err != nil {
		return nil, err
	}
	if end && req.length > 0 {
		return nil, malformed("less than content-length says")
	}
	if req.refusal != nil && req.refusal.foreign && (*Server)(h).sharesPort() {
		h.conn.Drain(frame.NoError, "this connection serves gRPC alone")
		return nil, frame.Error{Code: frame.RefusedStream, Reason: "no request of gRPC: another connection serves it"}
	}
	return &newServerStream((*Server)(h), req, end).h2, nil
}

// Opened implements h2.Handler. A call is started when its message is complete
// or the batch ends, whichever is first: most unary handlers then find their
// message there, and one that was reset within the batch is never started, unless
// something of its body has come.
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
func (h *serverHandler) BatchEnd() {
	last := h.held
	if last == nil {
		return
	}
	h.held = nil
	s := last.held
	for last.held = nil; s != nil; {
		next := s.held
		s.held = nil // not to keep the others alive
		s.start()
		s = next
	}
}

// Ready implements h2.Handler.
func (h *serverHandler) Ready() {}

// PingReceived implements h2.Handler.
func (h *serverHandler) PingReceived(streams int, sent bool) error {
	p := pingCount{h.lastPing, h.strikes}
	err := p.ping(&h.cfg.Policy, clock.Now(), streams, sent)
	h.lastPing, h.strikes = p.last, p.strikes
	return err
}

// GoAway implements h2.Handler.
func (h *serverHandler) GoAway(frame.ErrCode, string) {}

// Closed implements h2.Handler.
func (h *serverHandler) Closed(err error) {
	closed(h.conn)
	h.age.stop()
	h.handler.ConnClosed((*Server)(h), err)
}

// start runs the handler, once. A request that has none is answered by the reader:
// a goroutine for each would be what a flood of them wants.
func (s *ServerStream) start() {
	if s.started {
		return
	}
	s.started = true
	r := s.req.refusal
	if r == nil && s.callContext.lateAtOnce() {
		r = expiredRefusal
	}
	if r == nil {
		if st := s.server.handler.Refuses(s); st != nil {
			r = refused(http.StatusOK, st)
		}
	}
	if r == nil {
		warm.Go(s)
		return
	}
	s.refuse(r)
	s.h2.Done()
}

// Run implements warm.Task: it serves the call.
func (s *ServerStream) Run() {
	defer s.handled()
	switch {
	case s.callContext.ended() && !s.fed: // reset before it was started
		s.release(false)
	case s.callContext.lateAtOnce():
		if f, ok := s.refusalFrames(expiredRefusal); ok {
			_ = s.send(f) // nobody to tell
		}
		s.release(true)
	default:
		s.server.handler.HandleStream(s)
	}
}

// handled follows the handler.
func (s *ServerStream) handled() {
	if s.owner == nil { // else Done follows
		s.h2.Done()
	}
}
