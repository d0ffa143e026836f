// SPDX-License-Identifier: Apache-2.0

// Package cutter stands between two ends of a connection like a bad network: it resets
// and half-closes connections after a random number of bytes, in the middle of whatever
// they carry, or after a time.
package cutter

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Cutter carries connections to a target, each to a fate of its own.
type Cutter struct {
	lis    net.Listener
	target string
	cuts   atomic.Int64
	wg     sync.WaitGroup

	mu    sync.Mutex
	conns map[*net.TCPConn]struct{}
}

// Fates of a connection, drawn at random.
const (
	resetBoth = iota
	resetNear
	closeBoth
	halfClose
	fates
)

// Bounds of what a connection carries and how long it lives before it is cut.
const (
	maxBytes = 64 << 10
	maxLife  = 3 * time.Second
)

// Listen accepts connections for target on a loopback address, until Close.
func Listen(target string) (*Cutter, error) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &Cutter{lis: lis, target: target, conns: map[*net.TCPConn]struct{}{}}
	c.wg.Go(func() {
		for {
			near, err := lis.Accept()
			if err != nil {
				return
			}
			c.wg.Go(func() { c.carry(near.(*net.TCPConn)) })
		}
	})
	return c, nil
}

// Addr is where it listens.
func (c *Cutter) Addr() string { return c.lis.Addr().String() }

// Cuts is how many connections it has cut.
func (c *Cutter) Cuts() int64 { return c.cuts.Load() }

// Close ends all connections and returns when they are gone.
func (c *Cutter) Close() {
	_ = c.lis.Close()
	c.mu.Lock()
	for conn := range c.conns {
		_ = conn.Close()
	}
	c.conns = nil
	c.mu.Unlock()
	c.wg.Wait()
}

// carry carries one connection to its end.
func (c *Cutter) carry(near *net.TCPConn) {
	defer c.forget(near)
	if !c.remember(near) {
		return
	}
	conn, err := net.Dial("tcp", c.target)
	if err != nil {
		return
	}
	far := conn.(*net.TCPConn)
	defer c.forget(far)
	if !c.remember(far) {
		return
	}
	cut := sync.OnceFunc(func() { c.cut(near, far) })
	timer := time.AfterFunc(rand.N(maxLife), cut)
	defer timer.Stop()
	var wg sync.WaitGroup
	wg.Go(func() { pump(far, near, cut) })
	wg.Go(func() { pump(near, far, cut) })
	wg.Wait()
}

// pump carries one direction, cuts after a random number of bytes in one case of four,
// and passes an end on.
func pump(to, from *net.TCPConn, cut func()) {
	if rand.N(4) == 0 {
		if n, _ := io.CopyN(to, from, 1+rand.Int64N(maxBytes)); n > 0 {
			cut()
		}
	}
	_, _ = io.Copy(to, from) // how it ends is how the other end is told
	_ = to.CloseWrite()
}

// cut lets a connection meet its fate.
func (c *Cutter) cut(near, far *net.TCPConn) {
	c.cuts.Add(1)
	switch rand.N(fates) {
	case resetBoth:
		reset(near)
		reset(far)
	case resetNear:
		reset(near)
	case closeBoth:
		_ = near.Close()
		_ = far.Close()
	case halfClose:
		_ = far.CloseWrite()
	}
}

// reset makes the other end see a reset instead of an orderly end.
func reset(conn *net.TCPConn) {
	_ = conn.SetLinger(0)
	_ = conn.Close()
}

// remember says whether the cutter is still open.
func (c *Cutter) remember(conn *net.TCPConn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conns == nil {
		return false
	}
	c.conns[conn] = struct{}{}
	return true
}

func (c *Cutter) forget(conn *net.TCPConn) {
	_ = conn.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.conns, conn)
}
