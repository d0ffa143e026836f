// SPDX-License-Identifier: Apache-2.0

// Package service keeps the connections to handshaker services: one for each
// address. All handshakes share it, and it is closed when there has been no handshake
// for a minute.
package service

import (
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/keepalive"
)

// linger is how long a connection without users is kept for the next handshake.
const linger = time.Minute

// pings are the keepalive parameters that detect that the service's machine is gone.
var pings = keepalive.ClientParameters{Time: 10 * time.Minute, Timeout: 10 * time.Second}

var process = pool{dial: dial}

// Acquire returns the connection to the service at addr, which is a target for
// grpc.NewClient. The caller must call release when it no longer uses the connection, and
// must not close the connection.
func Acquire(addr string) (cc grpc.ClientConnInterface, release func(), err error) {
	return process.acquire(addr)
}

// CloseIdle closes the connections without users at once.
func CloseIdle() { process.closeIdle() }

// dial connects to a service on this machine or its host, without transport security and
// without a service config from DNS.
func dial(addr string) (*grpc.ClientConn, error) {
	opts := []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDisableServiceConfig(),
	}
	if envconfig.ALTSHandshakerKeepalive {
		opts = append(opts, grpc.WithKeepaliveParams(pings))
	}
	return grpc.NewClient(addr, opts...)
}

// pool holds connections by address.
type pool struct {
	dial func(addr string) (*grpc.ClientConn, error)

	mu    sync.Mutex
	conns map[string]*shared
}

// shared is one connection. The pool's lock guards it.
type shared struct {
	cc    *grpc.ClientConn
	users int
	timer *time.Timer // drops the connection when it fires; nil while there are users
}

func (p *pool) acquire(addr string) (grpc.ClientConnInterface, func(), error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.conns[addr]
	if s == nil {
		cc, err := p.dial(addr) // doesn't wait for the connection
		if err != nil {
			return nil, nil, err
		}
		if p.conns == nil {
			p.conns = make(map[string]*shared)
		}
		s = &shared{cc: cc}
		p.conns[addr] = s
	}
	s.users++
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	return s.cc, sync.OnceFunc(func() { p.release(addr, s) }), nil
}

func (p *pool) release(addr string, s *shared) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.users--; s.users > 0 {
		return
	}
	var t *time.Timer
	t = time.AfterFunc(linger, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if s.timer == t { // otherwise acquire stopped the timer too late
			p.drop(addr, s)
		}
	})
	s.timer = t
}

func (p *pool) closeIdle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for addr, s := range p.conns {
		if s.users == 0 {
			s.timer.Stop()
			p.drop(addr, s)
		}
	}
}

// drop removes a connection without users from the pool and closes it. The caller must hold
// p.mu.
func (p *pool) drop(addr string, s *shared) {
	s.timer = nil
	delete(p.conns, addr)
	_ = s.cc.Close() // fails only if it was closed before, and only drop closes it
}
