// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"errors"

	"google.golang.org/grpc/internal/transport"
)

var errStopping = errors.New("the server was stopped")

// drainReason is the debug text of the GOAWAY.
const drainReason = "graceful_stop"

// Stop closes all listeners and connections and returns when they are gone. RPCs
// that are under way fail with codes.Unavailable at their clients, and the
// contexts of their handlers are cancelled; see also [WaitForHandlers]. It may be
// called while GracefulStop runs, to cut that short, and more than once.
func (s *Server) Stop() {
	for _, c := range s.enter(serverStopped) {
		c.Close(errStopping)
	}
	s.cancelHTTP()
	s.awaitConns()
	if s.opts.waitForHandlers {
		s.running.wait()
	}
	s.markStopped()
}

// GracefulStop closes all listeners and tells the clients to make no new RPCs on
// their connections, serves those that are under way to their end, and returns
// when the connections and the handlers are gone. It may be called more than
// once.
func (s *Server) GracefulStop() {
	for _, c := range s.enter(serverDraining) {
		c.Drain(drainReason)
	}
	s.awaitConns()
	s.enter(serverStopped)
	s.running.wait()
	s.markStopped()
}

func (s *Server) markStopped() {
	s.stopOnce.Do(func() {
		if s.unwatch != nil {
			s.unwatch()
		}
		s.channelz.Close()
		close(s.stopped)
	})
}

// enter enters a state, if the server is not past it. It closes the listeners, and the
// connections whose handshake is not over; it returns the others that have started.
func (s *Server) enter(state serverState) []*transport.Server {
	s.mu.Lock()
	s.state = max(s.state, state)
	if s.state == serverStopped {
		s.running.refuse()
	}
	conns := make([]*transport.Server, 0, s.conns.len())
	for _, c := range s.conns.list {
		if _, early := s.starting[c]; !early { // those are ended by started
			conns = append(conns, c)
		}
	}
	listeners, handshakes := s.listeners, s.handshakes
	s.listeners = make(map[*served]struct{})
	s.handshakes = make(map[*handshake]struct{})
	s.mu.Unlock()
	s.beginDrain()
	for l := range listeners {
		l.close()
	}
	for h := range handshakes {
		_ = h.raw.Close()
	}
	return conns
}

// awaitConns waits until there are no connections. No new ones come, as the state
// is past running.
func (s *Server) awaitConns() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.conns.len() > 0 {
		s.empty.Wait()
	}
}

// cancelHTTP ends the contexts of the calls behind net/http, whose connections are
// not ours to close.
func (s *Server) cancelHTTP() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.httpCalls {
		c.Cancel()
	}
}
