// SPDX-License-Identifier: Apache-2.0

package oneport

import (
	"crypto/tls"
	"errors"
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

const (
	minAcceptDelay = 5 * time.Millisecond
	maxAcceptDelay = time.Second
)

// Serve accepts connections and passes them on. It returns nil when the port was closed,
// or both its sides were; or the error of the listener, if that fails: the port then is closed, and the
// servers' Serve return that error. Errors that call themselves temporary are tried again.
func (p *Port) Serve() error {
	var delay time.Duration
	for {
		raw, err := p.lis.Accept()
		if err == nil {
			delay = 0
			p.take(raw)
			continue
		}
		select {
		case <-p.done:
			return nil
		default:
		}
		if !isTemporary(err) {
			_ = p.shut(err) // it failed already
			return err
		}
		delay = min(max(2*delay, minAcceptDelay), maxAcceptDelay)
		logger.Warningf("oneport: accepting failed, trying again in %v: %v", delay, err)
		select {
		case <-time.After(delay):
		case <-p.done:
		}
	}
}

func isTemporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

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

// take has a new connection looked at.
func (p *Port) take(raw net.Conn) {
	a := &arrival{port: p, raw: raw, conn: raw}
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.fresh[a] = struct{}{}
	}
	p.mu.Unlock()
	if closed {
		_ = raw.Close() // nothing was said on it
		return
	}
	go a.run()
}

// forget takes a out of the port's care, and reports whether it was in it.
func (p *Port) forget(a *arrival) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, was := p.fresh[a]
	delete(p.fresh, a)
	return was
}
