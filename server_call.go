// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"net"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/internal/compressornames"
	"google.golang.org/grpc/internal/handover"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// serverCall is what it takes to serve one call, whether it comes over this module's own HTTP/2
// (*transport.ServerStream) or from net/http (*transport.HandlerStream).
//
// Few calls need more than that. Interfaces for it are declared where it is used: streamedCall, handedCall,
// watchedCall, limitedCall and boundCall. Both kinds of streams implement all of them.
type serverCall interface {
	called
	Context() context.Context
	ConnContext() context.Context
	ConnErr() error
	Peer() *peer.Peer
	Owner() handover.Owner

	ContentSubtype() string
	RecvCompress() string
	AcceptEncoding() string
	SetSendCompress(name string) error
	SendCompress() string

	SetHeader(metadata.MD) error
	SendHeader(metadata.MD) error
	SetTrailer(metadata.MD) error

	Recv() (transport.Message, error)
	Send(transport.Payload) error
	Reply(transport.Payload) error
	Decide(*status.Status) *status.Status
	Finish(*status.Status) error
}

var (
	_ serverCall = (*transport.ServerStream)(nil)
	_ serverCall = (*transport.HandlerStream)(nil)
)

// serveCall serves one call to its end.
func (s *Server) serveCall(st serverCall) {
	if !s.running.enter(st.Peer()) {
		_ = st.Finish(stoppingStatus) // its connection is gone
		return
	}
	defer s.left(st)
	if !s.opts.limits.enter(st) {
		_ = st.Finish(tooManyRPCs)
		return
	}
	s.opts.control.begin(st)
	ss := s.begin(st)
	if ss == nil {
		return
	}
	// The handler of a stream may wait for long. Its stack has nothing below it but this function,
	// so that 4 KB are enough for the handler, interceptors and generated code.
	var (
		m        = ss.method
		err      error
		returned bool
	)
	defer func() {
		if !returned {
			ss.exited()
		}
	}()
	if intercept := s.opts.stream; intercept == nil {
		err = m.stream.Handler(m.impl, ss)
	} else {
		err = intercept(m.impl, ss, m.streamInfo(), m.stream.Handler)
	}
	returned = true
	ss.handled(err)
}

// begin does what comes before the handler of a call. For a streaming call that has a handler it returns
// the stream. It serves all other calls to their end, and returns nil.
func (s *Server) begin(st serverCall) *serverStream {
	var free func()
	tapped, bound := false, false
	defer func() {
		if !bound && free != nil {
			free()
		}
		if !tapped {
			answerExited(st)
		}
	}()
	var ctx context.Context
	ctx, free = withinConn(st)
	ctx, err := s.tap(ctx, st)
	tapped = true
	if err != nil {
		s.opts.limits.leave(st)
		_ = st.Finish(status.Convert(err)) // an error can be reported to nobody
		return nil
	}
	if own := st.Context(); free != nil || ctx != own && ctx.Done() != own.Done() { // it may end first
		st.(boundCall).Bind(ctx, free)
		bound = true
	}
	if s.opts.labelGoroutines {
		ctx = labelGoroutine(ctx, shownMethod(st.Method()))
	}
	m := s.methodOf(st)
	if m == nil && s.opts.unknownHandler != nil && !isMalformed(st.Method()) {
		m = &method{full: st.Method(), stream: s.opts.unknownHandler}
	}
	if m != nil { // RPCs of unknown methods are not counted
		s.channelz.CallStarted()
	}
	return s.beginWatched(ctx, st, m)
}

// beginWatched does what begin does for a call of m, with those told that watch the call. It tells them of an end
// also if the program's code, which may be theirs, panics or calls runtime.Goexit. m is nil for an unknown method.
func (s *Server) beginWatched(ctx context.Context, st serverCall, m *method) *serverStream {
	var call servedCall
	err, ended := errExited, true
	defer func() {
		if !ended {
			return
		}
		defer s.ended(call, m, err)
		if err == errExited {
			defer answerExited(st) // also if who watches exits as well
			if call.serverCall != nil {
				answerExited(call)
			}
		}
	}()
	call, ctx = s.watch(ctx, st, m)
	call.watch.begin(m)
	ctx, fault := s.settle(ctx, call, m)
	switch {
	case fault != nil:
		s.opts.limits.leave(st)
		err = end(call, fault)
	case m.stream != nil:
		ss := s.newServerStream(ctx, call, m)
		ended = false
		return ss
	default:
		err = s.serveUnary(ctx, call, m)
	}
	return nil
}

// left is called after the handler of a call has returned.
func (s *Server) left(st serverCall) {
	if s.opts.labelGoroutines {
		pprof.SetGoroutineLabels(st.Context())
	}
	if st.Owner() == nil { // otherwise the call is not over
		s.over(st)
	}
}

// over is called when a call that has entered s.running and the limits has ended.
func (s *Server) over(st serverCall) {
	defer s.running.leave(st.Peer())
	s.opts.limits.leave(st)
	s.opts.control.end(st)
	if s.opts.transport.Tap != nil || len(s.opts.stats) > 0 {
		st.(boundCall).Unbind() // calls the context that the tap, or TagConn, has returned
	}
}

// refuse returns the status for a call that exceeds the limits, or whose method is unknown and that no
// option observes. Such a call needs no goroutine. refuse returns nil for all other calls, which
// serveCall serves.
func (s *Server) refuse(st called) *status.Status {
	if s.opts.limits.full(st.Method()) {
		return tooManyRPCs
	}
	if s.opts.unknownHandler != nil || s.opts.transport.Tap != nil || len(s.opts.stats) > 0 ||
		len(s.opts.telemetry) > 0 || s.methodOf(st) != nil {
		return nil
	}
	return status.Convert(s.unknown(st.Method()))
}

// settle finds out whether the call can be served, and with which context and compression.
func (s *Server) settle(ctx context.Context, st servedCall, m *method) (context.Context, error) {
	if m == nil {
		return ctx, s.unknown(st.Method())
	}
	ctx, err := s.route(ctx, st, m)
	if err == nil {
		err = s.settleCompression(st)
	}
	return ctx, err
}

var stoppingStatus = status.New(codes.Unavailable, "the server is stopping")

func (s *Server) unknown(path string) error {
	service, name, ok := transport.SplitMethod(path)
	switch {
	case !ok:
		return status.Errorf(codes.Unimplemented, "malformed method name: %q", transport.Quoted(path))
	case s.services[service] == nil:
		return status.Errorf(codes.Unimplemented, "unknown service %s", transport.Quoted(service))
	}
	return status.Errorf(codes.Unimplemented, "unknown method %s for service %s", transport.Quoted(name), service)
}

// isMalformed reports whether a path has a slash at its beginning and none behind it. Behind net/http such a path comes this far.
// One without a slash at its beginning comes only if the server accepts it.
func isMalformed(path string) bool {
	_, _, ok := transport.SplitMethod(path)
	return !ok && strings.HasPrefix(path, "/")
}

// withinConn returns the call's context. If stats handlers have given the connection a context that may end, the call's
// ends with it. Then free, which is otherwise nil, must be called in the end.
func withinConn(st serverCall) (ctx context.Context, free func()) {
	ctx, conn := st.Context(), st.ConnContext()
	if conn == nil {
		return ctx, nil
	}
	return transport.Within(ctx, conn)
}

// tap calls the application's tap. If the context that the tap returns has ended, nothing more of the
// call runs: either the client has given up, or the tap wants no handler to run.
func (s *Server) tap(ctx context.Context, st serverCall) (context.Context, error) {
	if err := st.ConnErr(); err != nil {
		return nil, status.FromContextError(err).Err()
	}
	if s.opts.transport.Tap == nil {
		return ctx, nil
	}
	md, _ := metadata.FromIncomingContext(ctx)
	ctx, err := s.opts.transport.Tap(ctx, &tap.Info{FullMethodName: st.Method(), Header: md})
	if err != nil {
		if _, ok := status.FromError(err); !ok {
			err = status.Error(codes.PermissionDenied, err.Error())
		}
		return nil, err
	}
	if cause := ctx.Err(); cause != nil {
		return nil, status.FromContextError(cause).Err()
	}
	return ctx, nil
}

// boundCall is a call that waits for its client no longer than the context lasts that a tap, or TagConn, has returned.
type boundCall interface {
	Bind(ctx context.Context, free func())
	Unbind()
}

var (
	_ boundCall = (*transport.ServerStream)(nil)
	_ boundCall = (*transport.HandlerStream)(nil)
)

// settleCompression fails if the call's messages can't be read. Otherwise it chooses the encoding of the
// replies: that of the request, unless an option sets another or the client does not accept it.
func (s *Server) settleCompression(st servedCall) error {
	theirs := st.RecvCompress()
	known := theirs == "" || theirs == encoding.Identity ||
		s.opts.decompressor != nil && s.opts.decompressor.Name() == theirs
	if !known && encoding.GetCompressor(theirs) == nil {
		return transport.RefuseEncoding(st, theirs, compressornames.AcceptEncoding())
	}
	switch {
	case s.opts.compressor != nil:
		theirs = s.opts.compressor.Name()
	case encoding.GetCompressor(theirs) == nil:
		return nil
	}
	// A client that does not say what it accepts is assumed to accept the encodings that it may send.
	if list := st.AcceptEncoding(); list != "" && !transport.AcceptsEncoding(list, theirs) {
		return nil
	}
	return st.SetSendCompress(theirs)
}

// serveUnary serves a call that has one request and one reply.
func (s *Server) serveUnary(ctx context.Context, st servedCall, m *method) error {
	codec := s.codecOf(st)
	decode := func(msg any) error { return s.receiveOne(st, codec, msg) }
	reply, err := s.handleUnary(ctx, st.serverCall, m, decode)
	if err != nil {
		return end(st, err)
	}
	w := s.writer(st, codec)
	if !st.watch.tellsMessages() { // stats handlers learn when the program may use the message again
		w.lend = lendForever
	}
	out, err := w.write(reply)
	if err != nil {
		return end(st, err)
	}
	sizes := out.sizes()
	if st.watch.keepsPlain() {
		// Message and status are sent one after the other, so that the log has both before the client
		// has the status.
		if err := st.Send(out.payload); err != nil {
			return end(st, err) // perhaps the response headers can't be sent
		}
		st.watch.sent(reply, sizes)
		return st.Finish(nil)
	}
	if !st.watch.tellsMessages() {
		// Many calls may wait below for their turn to write. A reply takes several times the memory of
		// its encoded form, so let the garbage collector have it.
		reply = nil
	}
	told, err := st.watch.replying(reply, sizes)
	if err != nil {
		out.payload.Data.Free()
		return end(st, err)
	}
	if err := st.Reply(out.payload); err != nil {
		return err
	}
	st.watch.replied(reply, sizes, told)
	return nil
}

// handleUnary runs the handler of a call. When it returns, the call has left its place under the limits.
func (s *Server) handleUnary(ctx context.Context, st serverCall, m *method, decode func(any) error) (any, error) {
	defer s.opts.limits.leave(st)
	return m.unary.Handler(m.impl, ctx, decode, s.opts.unary)
}

// admits asks the server's Source, if it has one, whether to go on with a connection.
func (s *Server) admits(accepted net.Conn) bool {
	return s.opts.rpcConfig == nil || s.opts.rpcConfig.Admit(accepted)
}

// routerOf asks the server's Source, if it has one, for the Router of a connection.
func (s *Server) routerOf(accepted net.Conn) (rpcconfig.Router, *connDrain, error) {
	if s.opts.rpcConfig == nil {
		return nil, nil, nil
	}
	d := &connDrain{}
	r, err := s.opts.rpcConfig.Router(rpcconfig.Conn{Accepted: accepted, Drain: d.drain})
	return r, d, err
}

var errContextLost = status.Error(codes.Internal, "the context that a tap or a stats handler has returned lacks the metadata of the RPC")

// route asks the Router of the call's connection, if there is one, how to serve the call. The Router may be what authorizes
// the call, so it is not looked for in ctx: a tap or a stats handler may have made that of another context.
func (s *Server) route(ctx context.Context, st servedCall, m *method) (context.Context, error) {
	if s.opts.rpcConfig == nil {
		return ctx, nil
	}
	r := rpcconfig.RouterOf(st.Context())
	if r == nil {
		return ctx, nil
	}
	if _, ok := metadata.FromIncomingContext(ctx); !ok { // what the Router decides by
		return nil, errContextLost
	}
	return r.Route(ctx, m.full)
}

// connDrain drains one connection when a Source asks for it, perhaps before the connection has started.
// It is nil if the server has no Source.
type connDrain struct {
	mu    sync.Mutex
	asked bool
	conn  *transport.Server // nil before it has started
}

// reconfigured is the debug text of the GOAWAY frames that connDrain sends.
const reconfigured = "configuration_changed"

func (d *connDrain) drain() {
	d.mu.Lock()
	first, c := !d.asked, d.conn
	d.asked = true
	d.mu.Unlock()
	if first && c != nil {
		c.Drain(reconfigured)
	}
}

func (d *connDrain) started(c *transport.Server) {
	if d == nil {
		return
	}
	d.mu.Lock()
	asked := d.asked
	d.conn = c
	d.mu.Unlock()
	if asked {
		c.Drain(reconfigured)
	}
}

// shownMethod returns the name of a method, which may be a peer's, for logs, statuses and profiles: without control
// characters, of a bounded length, and as it is if it is an ordinary one.
func shownMethod(name string) string {
	quoted := strconv.Quote(transport.Quoted(name))
	return quoted[1 : len(quoted)-1]
}

// labelGoroutine gives the calling goroutine, and those that it starts from then on, the label
// grpc.method. It returns a context with the label. To remove the label, call pprof.SetGoroutineLabels
// with the context from before.
func labelGoroutine(ctx context.Context, method string) context.Context {
	ctx = pprof.WithLabels(ctx, pprof.Labels("grpc.method", method))
	pprof.SetGoroutineLabels(ctx)
	return ctx
}
