// SPDX-License-Identifier: Apache-2.0

// Package attacker is what an attack is made with: connections that speak frames, or any
// bytes, to the victim, bounded in number, bytes and time.
package attacker

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/attack/internal/orders"
)

// Bounds of one attack.
const (
	maxBytes = 1 << 30 // sent
	maxConns = 12_000  // open at a time
)

// Attacker carries out one attack. Its methods may be called by any number of goroutines.
type Attacker struct {
	// Slowness is the factor by which time limits are stretched, because the machine is busy with other work.
	Slowness float64

	ctx      context.Context // ends when the attack has to
	addr     string          // of the server that is attacked
	security security
	lis      net.Listener // where clients come that are attacked

	sent    atomic.Int64
	streams atomic.Int64
	opened  atomic.Int64 // connections
	lost    atomic.Int64 // probes that got no answer in time
	failure atomic.Pointer[string]
	goaway  atomic.Pointer[string]
	slowest atomic.Int64

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	over  bool
}

// Against attacks a server. The attack is to end when ctx does.
func Against(ctx context.Context, o orders.Call) *Attacker {
	return &Attacker{ctx: ctx, addr: o.Addr, security: security{o.Security, o.Handshaker}, conns: map[net.Conn]struct{}{}}
}

// Awaiting attacks the clients that come to lis to do their work.
func Awaiting(ctx context.Context, lis net.Listener, w orders.Work) *Attacker {
	return &Attacker{ctx: ctx, lis: lis, security: security{w.Security, w.Handshaker}, conns: map[net.Conn]struct{}{}}
}

// Spent is what an attack has cost so far.
type Spent struct {
	Bytes          int64 // sent, as they are on the wire
	Streams, Conns int64
	// Lost is how many probes on connections that attack got no answer in time; Slowest
	// the longest that one took.
	Lost    int64
	Slowest time.Duration
	Error   string // of the first that was lost
	GoAway  string // what the victim said when it first ended a connection
}

// Spent says what the attack has cost so far.
func (a *Attacker) Spent() Spent {
	s := Spent{
		Bytes: a.sent.Load(), Streams: a.streams.Load(), Conns: a.opened.Load(),
		Lost: a.lost.Load(), Slowest: time.Duration(a.slowest.Load()),
	}
	if text := a.failure.Load(); text != nil {
		s.Error = *text
	}
	if text := a.goaway.Load(); text != nil {
		s.GoAway = *text
	}
	return s
}

// Over tells whether the attack has to end: its time, or its bytes, are used up.
func (a *Attacker) Over() bool { return a.ctx.Err() != nil || a.sent.Load() > maxBytes }

// Context ends when the attack has to.
func (a *Attacker) Context() context.Context { return a.ctx }

// Left is how much time there is left.
func (a *Attacker) Left() time.Duration {
	end, ok := a.ctx.Deadline()
	if !ok {
		return 0
	}
	return max(time.Until(end), 0)
}

// Sleep waits, and tells whether there is time left.
func (a *Attacker) Sleep(d time.Duration) bool {
	select {
	case <-a.ctx.Done():
		return false
	case <-time.After(d):
		return !a.Over()
	}
}

// Probed counts a call, or a PING, on a connection that attacks but has a right to an
// answer all the same.
func (a *Attacker) Probed(took time.Duration, err error) {
	for {
		old := a.slowest.Load()
		if int64(took) <= old || a.slowest.CompareAndSwap(old, int64(took)) {
			break
		}
	}
	if err != nil {
		a.lost.Add(1)
		text := err.Error()
		a.failure.CompareAndSwap(nil, &text)
	}
}

// errOver says that the attack is over.
var errOver = errors.New("the attack is over")

// Dial opens a bare connection to the server that is attacked. It stays open until Close.
func (a *Attacker) Dial() (net.Conn, error) {
	var d net.Dialer
	nc, err := d.DialContext(a.ctx, "tcp", a.addr)
	if err != nil {
		return nil, err
	}
	return a.keep(nc)
}

// keep counts a connection and what is sent over it.
func (a *Attacker) keep(nc net.Conn) (net.Conn, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over || len(a.conns) >= maxConns {
		nc.Close()
		return nil, errOver
	}
	a.opened.Add(1)
	k := &counted{Conn: nc, a: a}
	a.conns[k] = struct{}{}
	if end, ok := a.ctx.Deadline(); ok {
		nc.SetDeadline(end)
	}
	return k, nil
}

// Close closes all connections: what the victim holds was measured.
func (a *Attacker) Close() {
	a.mu.Lock()
	a.over = true
	conns := a.conns
	a.conns = nil
	a.mu.Unlock()
	for nc := range conns {
		nc.(*counted).Conn.Close()
	}
	if a.lis != nil {
		a.lis.Close()
	}
}

// counted is a connection whose bytes count.
type counted struct {
	net.Conn
	a *Attacker
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.a.sent.Add(int64(n))
	return n, err
}

func (c *counted) Close() error {
	c.a.mu.Lock()
	delete(c.a.conns, c)
	c.a.mu.Unlock()
	return c.Conn.Close()
}

// Reset closes a connection with an RST where TCP lets it.
func Reset(nc net.Conn) {
	if k, ok := nc.(*counted); ok {
		if tc, ok := k.Conn.(*net.TCPConn); ok {
			_ = tc.SetLinger(0) // it is closed at once, then
		}
	}
	nc.Close()
}

// Each runs attack on n connections at once, each with its number, until all have
// returned. What the victim does against it is no error.
func (a *Attacker) Each(n int, attack func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { attack(i) })
	}
	wg.Wait()
}
