// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"context"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Sockets remembers the sockets below connections, and closes them at random, whatever is
// going on above.
type Sockets struct {
	mu   sync.Mutex
	all  []net.Conn
	Cuts atomic.Int64
}

// dial returns the socket itself, not something around it: only then the connection parks.
func (s *Sockets) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	nc, err := d.DialContext(ctx, network, addr)
	if err == nil {
		s.add(nc)
	}
	return nc, err
}

func (s *Sockets) add(nc net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, nc)
	if len(s.all) > 256 { // the oldest are mostly closed
		s.all = slices.Delete(s.all, 0, 128)
	}
}

// cut closes one of them in one way or another.
func (s *Sockets) cut() {
	s.mu.Lock()
	if len(s.all) == 0 {
		s.mu.Unlock()
		return
	}
	i := rand.N(len(s.all))
	nc := s.all[i]
	s.all = slices.Delete(s.all, i, i+1)
	s.mu.Unlock()
	s.Cuts.Add(1)
	half, _ := nc.(interface{ CloseWrite() error })
	tcp, _ := nc.(*net.TCPConn)
	switch n := rand.N(4); {
	case n == 0 && half != nil:
		_ = half.CloseWrite() // it may be closed already; so below
	case n == 1 && tcp != nil:
		_ = tcp.SetLinger(0)
		_ = nc.Close()
	default:
		_ = nc.Close()
	}
}

// Run cuts every few milliseconds until ctx ends.
func (s *Sockets) Run(ctx context.Context) {
	for ctx.Err() == nil {
		s.cut()
		Pause(ctx, rand.N(20*time.Millisecond))
	}
}

// listener remembers what it accepts.
type listener struct {
	net.Listener
	sockets *Sockets
}

func (l listener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err == nil {
		l.sockets.add(nc)
	}
	return nc, err
}

// Pause waits, for as long as ctx lasts at most.
func Pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
