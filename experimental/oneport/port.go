// SPDX-License-Identifier: Apache-2.0

package oneport

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/shrink"
)

var logger = grpclog.Component("oneport")

// Port distributes the connections of a listener between a grpc.Server and an http.Server. [New] makes
// one. Several goroutines may call its methods at the same time.
type Port struct {
	lis     net.Listener
	config  *tls.Config // nil: plain text
	timeout time.Duration
	rpc     *side
	web     *side
	done    chan struct{} // closed when the port is

	patience, settle time.Duration // initially defaultPatience and defaultSettle

	mu sync.Mutex
	// Guarded by mu.
	closed bool
	fresh  map[*arrival]struct{} // connections that no server has yet
	most   int                   // see shrink.Delete
}

// New returns a port that accepts connections from lis once [Port.Serve] is called. An error says that the
// TLS config has no certificate; lis is then not touched.
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

// GRPC returns the listener for grpc.Server.Serve, always the same one.
func (p *Port) GRPC() net.Listener { return p.rpc }

// HTTP returns the listener for http.Server.Serve, always the same one. It is not for ServeTLS, as the port
// itself does TLS.
func (p *Port) HTTP() net.Listener { return p.web }

// Close closes the listener, both sides, and the connections that no server has yet. Connections that
// a server has stay with it.
func (p *Port) Close() error { return p.shut(net.ErrClosed) }

// shut closes the port. From then on the sides' Accept returns err.
func (p *Port) shut(err error) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	for a := range p.fresh {
		conn := a.conn
		a.cut.Go(func() { _ = conn.SetDeadline(past) }) // a wrapper's may wait for its Read. a's goroutine does the rest
	}
	p.fresh = nil
	p.mu.Unlock()
	close(p.done)
	p.rpc.end(err)
	p.web.end(err)
	return p.lis.Close()
}

// past is a deadline that has passed.
var past = time.Unix(1, 0)

// forget removes a from p.fresh, and reports whether it was there.
func (p *Port) forget(a *arrival) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, was := p.fresh[a]
	p.fresh = shrink.Delete(p.fresh, a, &p.most)
	return was
}

// side is the listener for one of the servers.
type side struct {
	port *Port
	next chan net.Conn
	once sync.Once
	over chan struct{} // closed when the side is
	err  error         // what Accept returns once over is closed
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

// Close implements net.Listener. It closes the port too if the other side is closed.
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

var (
	errStopped     = errors.New("its server is stopped")
	errNotAccepted = errors.New("its server did not accept it in time")
)

// pass hands c to the server. An error says that the server is stopped, or accepts no connections.
func (s *side) pass(c net.Conn) error {
	if s.isOver() {
		return errStopped
	}
	late := time.NewTimer(s.port.timeout)
	defer late.Stop()
	select {
	case s.next <- c:
		return nil
	case <-s.over:
		return errStopped
	case <-late.C:
		return errNotAccepted
	}
}

// arrival is a connection that has been accepted and not been passed on yet. It has a goroutine, at most
// for the time of the client's handshake, that in which its server is to accept it, and six seconds more.
type arrival struct {
	port *Port
	cut  sync.WaitGroup // shut sets a deadline of conn
	raw  net.Conn
	conn net.Conn // raw, or the TLS connection over it once the handshake is done
	// sock is conn as sniff reads it. It keeps an error that came with the client's words.
	sock readyreader.Socket
	// secure is the TLS connection, a *tls.Conn or a *tlsconn.Conn; nil in plain text.
	secure secureConn
	state  tls.ConnectionState
	sniffer
}

type secureConn interface {
	net.Conn
	HandshakeContext(context.Context) error
	ConnectionState() tls.ConnectionState
}
