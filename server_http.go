// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"net/http"

	"google.golang.org/grpc/internal/transport"
)

// ServeHTTP serves the RPC that the request r is, so that a server of package
// net/http can serve gRPC beside other things on one port. r must have come over
// HTTP/2. It is slower than Serve. Options about connections (keepalive, windows, limits of
// streams) have no effect: those are net/http's, as is TLS.
//
// GracefulStop waits for such calls, and Stop cancels their contexts; the
// connections stay with net/http.
//
// Experimental: this API may change in a later release.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	st := transport.NewHandlerStream(w, r, &s.host)
	if st == nil {
		return // it is not an RPC, and has been answered
	}
	defer st.Release()
	if !s.addHTTP(st) {
		_ = st.Finish(stoppingStatus) // the client may be gone too
		return
	}
	defer s.removeHTTP(st)
	if len(s.opts.stats) > 0 {
		// To the stats handlers each call has a connection of its own.
		st.Derive(func(ctx context.Context) context.Context { return s.beginConn(ctx, st.Peer()) })
		defer s.endConn(st.Context())
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
	delete(s.httpCalls, st)
}
