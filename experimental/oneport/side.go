// SPDX-License-Identifier: Apache-2.0

package oneport

import (
	"net"
	"sync"
)

// side is the listener of one of the servers.
type side struct {
	port *Port
	next chan net.Conn
	once sync.Once
	over chan struct{} // closed at the end
	err  error         // of Accept, from then on
}

func newSide(p *Port) *side {
	return &side{port: p, next: make(chan net.Conn), over: make(chan struct{})}
}

// Accept implements net.Listener.
func (s *side) Accept() (net.Conn, error) {
	select {
	case <-s.over:
		return nil, s.failure()
	default:
	}
	select {
	case c := <-s.next:
		return c, nil
	case <-s.over:
		return nil, s.failure()
	}
}

func (s *side) failure() error {
	return &net.OpError{Op: "accept", Net: s.Addr().Network(), Addr: s.Addr(), Err: s.err}
}

// Close implements net.Listener. The port is closed with its second side.
func (s *side) Close() error {
	s.end(net.ErrClosed)
	if s.port.rpc.isOver() && s.port.web.isOver() {
		return s.port.Close()
	}
	return nil
}

// Addr implements net.Listener.
func (s *side) Addr() net.Addr { return s.port.lis.Addr() }

func (s *side) end(err error) {
	s.once.Do(func() {
		s.err = err
		close(s.over)
	})
}

func (s *side) isOver() bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

// pass hands c to the server, and reports whether that takes it.
func (s *side) pass(c net.Conn) bool {
	if s.isOver() {
		return false
	}
	select {
	case s.next <- c:
		return true
	case <-s.over:
		return false
	}
}
