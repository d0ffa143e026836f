// SPDX-License-Identifier: Apache-2.0

package oneport

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/grpclog"
)

var logger = grpclog.Component("oneport")

// Port divides the connections of a listener among a server of gRPC and one of HTTP. Make
// it with [New]. Its methods may be called by any goroutine.
type Port struct {
	lis     net.Listener
	config  *tls.Config // nil: plain text
	timeout time.Duration
	rpc     *side
	web     *side
	done    chan struct{} // closed with the port

	patience, settle time.Duration // defaultPatience, defaultSettle

	mu sync.Mutex
	// Guarded by mu.
	closed bool
	fresh  map[*arrival]struct{} // connections that nobody has yet
}

// New returns a port that takes its connections from lis, once [Port.Serve] is called. An
// error says that the TLS config has no certificate; lis then is left as it is.
func New(lis net.Listener, opts Options) (*Port, error) {
	config, err := opts.config()
	if err != nil {
		return nil, err
	}
	p := &Port{
		lis:     lis,
		config:  config,
		timeout: opts.handshakeTimeout(),
		done:    make(chan struct{}),
		fresh:   make(map[*arrival]struct{}),

		patience: defaultPatience,
		settle:   defaultSettle,
	}
	p.rpc, p.web = newSide(p), newSide(p)
	return p, nil
}

// GRPC is the listener for grpc.Server.Serve. It is always the same one.
func (p *Port) GRPC() net.Listener { return p.rpc }

// HTTP is the listener for http.Server.Serve; not for ServeTLS, as TLS is the port's. It
// is always the same one.
func (p *Port) HTTP() net.Listener { return p.web }

// Close closes the listener, both sides, and the connections that no server has yet. Those
// that one has stay with it.
func (p *Port) Close() error { return p.shut(net.ErrClosed) }

// shut closes the port. Accept returns err from then on.
func (p *Port) shut(err error) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	for a := range p.fresh {
		_ = a.conn.SetDeadline(time.Unix(1, 0)) // its goroutine sees to the rest
	}
	p.fresh = nil
	p.mu.Unlock()
	close(p.done)
	p.rpc.end(err)
	p.web.end(err)
	return p.lis.Close()
}

// forget takes a out of the port's care, and reports whether it was in it.
func (p *Port) forget(a *arrival) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, was := p.fresh[a]
	delete(p.fresh, a)
	return was
}

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

// arrival is a connection that was accepted and is not passed on yet. It has a goroutine,
// for as long as its client takes for the handshake and five seconds more at most.
type arrival struct {
	port *Port
	raw  net.Conn
	conn net.Conn // raw, or the TLS over it, once its handshake is done
	// secure is conn, if that is one of TLS: a *tls.Conn or a *tlsconn.Conn.
	secure secureConn
	state  tls.ConnectionState
	sniffer
}

type secureConn interface {
	net.Conn
	HandshakeContext(context.Context) error
	ConnectionState() tls.ConnectionState
}
