// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials"
	credinternal "google.golang.org/grpc/internal/credentials"
	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// HandlerStream is one call that came in as a request to a server of package net/http, whose HTTP/2 it
// uses. Its owner uses it like a ServerStream; see there for who may call what.
type HandlerStream struct {
	w      http.ResponseWriter
	r      *http.Request
	flush  http.Flusher
	req    request
	odd    oddities    // the request's
	md     metadata.MD // received
	peer   *peer.Peer  // programs keep it
	ctx    handlerContext
	cancel context.CancelFunc
	own    context.Context // ctx before Derive: it ends with the request, or at the deadline
	// derived lets go of a context that Derive has made, which then does not interrupt the call; nil: there is none.
	derived func()
	body    handlerBody

	stopped atomic.Bool                    // by Cancel
	handed  atomic.Pointer[handedResponse] // nil: the call was not handed over
	out     sync.Mutex                     // held while the response is used, which may wait for the client; taken before mu
	gate    sync.Mutex                     // held while interrupt uses the response; taken after out, never with mu
	writing bool                           // a Write is under way; guarded by gate
	cutter  *time.Timer                    // ends that Write; nil: nothing does yet; guarded by gate
	gone    bool                           // the response must not be used; guarded by gate
	timeout grpcwire.Timeout               // of the request
	drain   context.Context                // ends when the server begins to drain

	reply // its mu guards what follows mu there, and the response's headers until they are sent
}

// NewHandlerStream makes a call from the request r. If r is not a gRPC call, it answers r with an error and
// returns nil.
func NewHandlerStream(w http.ResponseWriter, r *http.Request, host *ServerHost) *HandlerStream {
	s := &HandlerStream{w: w, r: r, odd: usual, drain: host.Drain}
	s.req.oddities = &s.odd
	if code, reason := s.parse(); reason != "" {
		if code == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", http.MethodPost)
		}
		http.Error(w, reason, code)
		return nil
	}
	s.setPeer()
	ctx := r.Context()
	if t := s.timeout; t.IsSet() {
		s.ctx.Context, s.cancel = context.WithTimeout(ctx, t.Duration())
	} else {
		s.ctx.Context, s.cancel = context.WithCancel(ctx)
	}
	s.ctx.stream = s
	s.own = s.ctx.Context
	s.body.init(r.Body, host.ServerConfig)
	s.body.ctx, s.body.handed = &s.ctx, &s.handed
	context.AfterFunc(s.ctx.Context, s.interrupt)
	return s
}

// resetPatience is how long after the deadline a Write may go on waiting for the client's windows. The
// client's deadline passes at about the same time: its reset then ends the Write. When net/http ends a
// Write, it resets the stream with INTERNAL_ERROR, which a client that gets this first does not report as
// DEADLINE_EXCEEDED.
const resetPatience = time.Second

// interrupt makes a Write return that waits for the client's windows, because the call is over. It runs
// some time after the context has ended: a Write that begins by then finds that out itself, and its status
// reaches the client.
func (s *HandlerStream) interrupt() {
	defer s.handed.Load().wake()
	s.gate.Lock()
	defer s.gate.Unlock()
	if !s.writing || s.cutter != nil {
		return
	}
	if s.ctx.Err() == context.DeadlineExceeded || s.own.Err() == context.DeadlineExceeded {
		s.cutter = time.AfterFunc(resetPatience, s.cutWrite)
		return
	}
	s.cutWriteLocked()
}

// cutWrite makes a Write return when resetPatience is over.
func (s *HandlerStream) cutWrite() {
	s.gate.Lock()
	defer s.gate.Unlock()
	s.cutWriteLocked()
}

// cutWriteLocked makes a Write return. gate is held.
func (s *HandlerStream) cutWriteLocked() {
	if s.writing && !s.gone {
		// Where this is not supported the client has to end the call.
		_ = http.NewResponseController(s.w).SetWriteDeadline(time.Unix(1, 0))
	}
}

// beginWrite returns an error if no Write may begin. Otherwise endWrite must follow the Write.
func (s *HandlerStream) beginWrite() error {
	s.gate.Lock()
	defer s.gate.Unlock()
	if err := s.ctx.Err(); err != nil {
		return s.sendError(err)
	}
	s.writing = true
	return nil
}

func (s *HandlerStream) endWrite() {
	s.gate.Lock()
	defer s.gate.Unlock()
	s.writing = false
	if s.cutter != nil {
		s.cutter.Stop()
		s.cutter = nil
	}
}

// sendError returns why nothing can be sent on a stream whose context has ended with cause.
func (s *HandlerStream) sendError(cause error) error {
	if cause == context.Canceled && s.clientGone() {
		return errConnGone
	}
	return status.FromContextError(cause).Err()
}

// clientGone reports whether net/http has ended the request: the client has reset the stream, the
// connection is lost, or a Write was cut. net/http does not tell which.
func (s *HandlerStream) clientGone() bool {
	return s.r.Context().Err() == context.Canceled && !s.stopped.Load()
}

// parse reads the headers. A reason that is not empty says why the request is no call.
func (s *HandlerStream) parse() (code int, reason string) {
	r := s.r
	flush, ok := s.w.(http.Flusher)
	contentType := r.Header.Get(grpcwire.HeaderContentType)
	subtype, isGRPC := grpcwire.ParseContentType(contentType)
	switch {
	case r.Method != http.MethodPost:
		return http.StatusMethodNotAllowed, "invalid gRPC request method " + quote(grpcwire.Quoted(r.Method))
	case !isGRPC:
		return http.StatusUnsupportedMediaType, "invalid gRPC request content-type " + quote(grpcwire.Quoted(contentType))
	case r.ProtoMajor != 2:
		return http.StatusHTTPVersionNotSupported, "gRPC requires HTTP/2"
	case !ok:
		return http.StatusInternalServerError, "gRPC requires a ResponseWriter supporting http.Flusher"
	}
	s.flush, s.odd.subtype = flush, subtype
	if v := r.Header.Get(grpcwire.HeaderTimeout); v != "" {
		t, err := grpcwire.ParseTimeout(v)
		if err != nil {
			return http.StatusBadRequest, "malformed grpc-timeout: " + err.Error()
		}
		s.timeout = t
	}
	s.req.method = unknownMethod(r.URL.Path)
	s.odd.encoding = r.Header.Get(grpcwire.HeaderEncoding)
	return s.parseMetadata()
}

func (s *HandlerStream) parseMetadata() (code int, reason string) {
	s.md = make(metadata.MD, len(s.r.Header)+1)
	if s.r.Host != "" {
		s.md[grpcwire.HeaderAuthority] = []string{s.r.Host}
	}
	var joined joined
	for name, vs := range s.r.Header {
		k := strings.ToLower(name)
		if grpcwire.IsHidden(k) {
			continue
		}
		for _, v := range vs {
			if !grpcwire.IsBinary(k) {
				s.md[k] = append(s.md[k], v)
				continue
			}
			if joined.split(strings.Count(v, ",")+1, len(v)); joined.tooMany() {
				return http.StatusBadRequest, "too many values joined in binary metadata " + quote(grpcwire.Quoted(k))
			}
			more, err := grpcwire.AppendBinaryValues(s.md[k], v)
			if err != nil {
				return http.StatusBadRequest, (&badBinary{grpcwire.Quoted(k), err}).Error()
			}
			s.md[k] = more
		}
	}
	return 0, ""
}

func (s *HandlerStream) setPeer() {
	s.peer = &peer.Peer{Addr: strAddr(s.r.RemoteAddr)}
	if local, ok := s.r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		s.peer.LocalAddr = local
	}
	if s.r.TLS != nil {
		s.peer.AuthInfo = credentials.TLSInfo{
			State:          *s.r.TLS,
			SPIFFEID:       credinternal.SPIFFEIDFromState(*s.r.TLS),
			CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity},
		}
	}
}

// strAddr is an address as net/http gives it.
type strAddr string

func (a strAddr) String() string { return string(a) }

func (a strAddr) Network() string {
	if strings.Contains(string(a), ":") {
		return "tcp"
	}
	return "unix"
}

// Derive replaces the call's context by what f makes of it, which ends with the call also if f has made it of another. It
// must be called before the call is served.
func (s *HandlerStream) Derive(f func(context.Context) context.Context) {
	ctx := f(s.own)
	if ctx.Done() == s.own.Done() {
		s.ctx.Context = ctx
		return
	}
	within, free := Within(ctx, s.own)
	stop := context.AfterFunc(within, s.interrupt)
	s.ctx.Context = within
	s.derived = func() { stop(); free() }
}

// ConnContext returns nil: the call's context ends with that of its connection anyway.
func (s *HandlerStream) ConnContext() context.Context { return nil }

// ConnErr does what ServerStream.ConnErr does.
func (s *HandlerStream) ConnErr() error {
	if s.derived == nil {
		return nil
	}
	return ctxOver(s.ctx.Context)
}

// Method returns the full method name, "/package.Service/Method".
func (s *HandlerStream) Method() string { return s.req.method.Path() }

// Known returns the call's method as ServerStream.Known does; here it is never one of the server's own.
func (s *HandlerStream) Known() Method { return s.req.method }

// ContentSubtype returns the name of the codec that the client uses, "" for the default.
func (s *HandlerStream) ContentSubtype() string { return s.req.subtype }

// RecvCompress returns the encoding of the client's messages, "" for none.
func (s *HandlerStream) RecvCompress() string { return s.req.encoding }

// AcceptEncoding returns the client's list of encodings that it can read.
func (s *HandlerStream) AcceptEncoding() string {
	var list acceptList
	for _, v := range s.md[grpcwire.HeaderAcceptEncoding] {
		list.add(v)
	}
	return string(list)
}

// HeaderWireLength returns 0: net/http does not tell the size of the request headers as HPACK coded them.
func (s *HandlerStream) HeaderWireLength() int { return 0 }

// IncomingHeader returns the request's metadata as a new map.
func (s *HandlerStream) IncomingHeader() metadata.MD { return s.md.Copy() }

// Context returns the call's context. It ends when the handler returns, EndedEarly is called, the client
// cancels, the deadline passes or the connection is lost.
func (s *HandlerStream) Context() context.Context { return &s.ctx }

// BareContext does what ServerStream.BareContext does.
func (s *HandlerStream) BareContext() context.Context { return &s.ctx }

// Peer returns the client. Its fields must not be changed.
func (s *HandlerStream) Peer() *peer.Peer { return s.peer }

// Canceled does what ServerStream.Canceled does.
func (s *HandlerStream) Canceled() bool { return s.own.Err() == context.Canceled }

// Cancel ends the context. The handler is then expected to return.
func (s *HandlerStream) Cancel() {
	s.stopped.Store(true)
	s.cancel()
}

// Recv does what ServerStream.Recv does.
func (s *HandlerStream) Recv() (grpcwire.Message, error) { return s.body.recv() }

// Release is called after the end of the call. The stream does not touch the request and the response after
// it.
func (s *HandlerStream) Release() {
	s.out.Lock() // after a Write that is under way
	s.mu.Lock()
	s.finished = true
	s.mu.Unlock()
	s.out.Unlock()
	s.gate.Lock()
	s.gone = true
	s.gate.Unlock()
	if s.derived != nil {
		s.derived()
	}
	s.cancel()
	s.body.release()
}

// handlerContext is the context of a HandlerStream. What applications look for in it is made when they
// look.
type handlerContext struct {
	context.Context
	stream *HandlerStream
}

// Value implements context.Context.
func (c *handlerContext) Value(key any) any {
	switch key.(type) {
	case ctxkey.IncomingMetadata:
		return c
	case ctxkey.Peer:
		return c.stream.peer
	case ctxkey.ServerTransportStream:
		return c.stream
	case ctxkey.ServerConn:
		return c.stream
	}
	return c.Context.Value(key)
}

// String keeps fmt from reading fields that others write.
func (c *handlerContext) String() string { return "context of a gRPC call" }

// IncomingMD implements ctxkey.LazyMD.
func (c *handlerContext) IncomingMD() map[string][]string { return c.stream.md.Copy() }
