// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/transport/h2/protocol"
	"google.golang.org/grpc/mem"
)

// until waits for what no event tells.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

func (r *testRole) told(line string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lines {
		if l == line {
			return true
		}
	}
	return false
}

// A connection with an open stream parks, wakes for a frame, and when it is
// closed while parked its stream is told. In the middle of a field block there
// is state that can't be given back: there it does not park.
func TestParking(t *testing.T) {
	if !park.Supported() {
		t.Skip("not on this system")
	}
	nc, ns := socketPair(t, "unix", 0)
	defer nc.Close()
	role := &testRole{}
	c := New(ns, protocol.Server, &protocol.Config{Pool: mem.DefaultBufferPool(), Pooled: true, StaticWindow: true}, role)
	c.Start()
	p := &testPeer{t: t}
	p.enc = newPeerEncoder(p)
	first := p.request(1, false)
	b := p.fieldBlock(request...) // in the order in which they are sent
	nc.Write(join([]byte(http2.ClientPreface), settings(), raw(fSettings, 1, 0, nil), first, raw(fHeaders, 1, 3, b[:1])))
	until(t, "the first stream", func() bool { return role.told("opened 1 :method=POST :path=/x") })
	for range 3 { // sweeps that find the reader waiting for CONTINUATION
		until(t, "the sweeper's turn", func() bool { return !c.quiet.Load() })
		(*sweptConn)(c).Quiet()
	}
	until(t, "the reader's answer", func() bool { return !c.quiet.Load() })
	if c.handle.Parked() {
		t.Fatal("parked in the middle of a field block")
	}
	nc.Write(raw(fContinuation, 4, 3, b[1:]))
	until(t, "the second stream", func() bool { return role.told("opened 3 :method=POST :path=/x end") })
	until(t, "parked", c.handle.Parked)
	nc.Write(data(1, "", true))
	until(t, "awake", func() bool { return role.told("end 1") })
	until(t, "parked again", c.handle.Parked)
	c.Close(errors.New("enough"))
	until(t, "told", func() bool {
		return role.told("closed: enough") && role.told("abort 1 enough") && role.told("abort 3 enough")
	})
}

// waitedConn is a socket that tells when its reader is about to wait.
type waitedConn struct {
	readyreader.BaseLayer
	net.Conn
	below  readyreader.Layer
	before func()
}

func (c *waitedConn) Can() readyreader.Ability {
	return readyreader.ReadsReady | readyreader.TriesReads
}

func (c *waitedConn) TryRead(size int, pool mem.BufferPool) (*[]byte, int, error) {
	return c.below.TryRead(size, pool)
}

func (c *waitedConn) RawConn() syscall.RawConn { return c.below.RawConn() }

func (c *waitedConn) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	c.before()
	return c.below.ReadOnReady(size, pool)
}

// lockedDeadlines is a socket that notes whether Conn.mu was free when its reads were interrupted.
type lockedDeadlines struct {
	waitedConn
	mu interface {
		TryLock() bool
		Unlock()
	}
	free atomic.Bool
}

func (c *lockedDeadlines) SetReadDeadline(t time.Time) error {
	if c.mu.TryLock() {
		c.mu.Unlock()
		c.free.Store(true)
	}
	return c.waitedConn.SetReadDeadline(t)
}

// TestInterruptedUnderLock: the sweeper's flag and its deadline change together. A reader that met the
// deadline alone, as the flag was taken between the two, would believe that the connection has failed.
func TestInterruptedUnderLock(t *testing.T) {
	if !park.Supported() {
		t.Skip("not on this system")
	}
	nc, ns := socketPair(t, "unix", 0)
	defer nc.Close()
	wc := &lockedDeadlines{waitedConn: waitedConn{Conn: ns, below: readyreader.NewSocket(ns).Layer, before: func() {}}}
	role := &testRole{}
	c := New(wc, protocol.Server, &protocol.Config{Pool: mem.DefaultBufferPool(), Pooled: true, StaticWindow: true}, role)
	wc.mu = &c.mu
	c.Start()
	p := &testPeer{t: t}
	p.enc = newPeerEncoder(p)
	b := p.fieldBlock(request...)
	nc.Write(join([]byte(http2.ClientPreface), settings(), raw(fSettings, 1, 0, nil), raw(fHeaders, 1, 1, b[:1])))
	for range 3 { // sweeps that find the reader waiting for CONTINUATION
		(*sweptConn)(c).Quiet()
		until(t, "the reader's answer", func() bool { return !c.quiet.Load() })
	}
	c.Close(errors.New("enough"))
	until(t, "the reader's end", func() bool { return c.Cause() != nil })
	if wc.free.Load() {
		t.Error("a read deadline was set without Conn.mu")
	}
}

// Where a connection can't park the sweeper is not asked: it would wake the reader for
// nothing as long as the peer likes. With the rest of what was begun it parks.
func TestWatchedOnlyWhereItCanPark(t *testing.T) {
	if !park.Supported() {
		t.Skip("not on this system")
	}
	p := &testPeer{t: t}
	p.enc = newPeerEncoder(p)
	block := p.fieldBlock(request...)
	ping := raw(http2.FramePing, 0, 0, make([]byte, 8))
	for _, tt := range []struct {
		name        string
		begin, rest []byte
	}{
		{"preface without SETTINGS", []byte(http2.ClientPreface), settings()},
		{"half a frame header", join([]byte(http2.ClientPreface), settings(), ping[:5]), ping[5:]},
		{"open field block", join([]byte(http2.ClientPreface), settings(), raw(fHeaders, 1, 1, block[:1])), raw(fContinuation, 4, 1, block[1:])},
	} {
		t.Run(tt.name, func(t *testing.T) {
			nc, ns := socketPair(t, "unix", 0)
			defer nc.Close()
			wc := &waitedConn{Conn: ns, below: readyreader.NewSocket(ns).Layer}
			c := New(wc, protocol.Server, &protocol.Config{Pool: mem.DefaultBufferPool(), Pooled: true, StaticWindow: true, PrefaceTimeout: patience}, &testRole{})
			swept := make(chan bool, 100)
			wc.before = func() { swept <- c.in.swept }
			nc.Write(tt.begin) // in one piece, before anybody reads
			c.Start()
			defer until(t, "the reader's end", func() bool { return c.Cause() != nil })
			defer c.Close(errors.New("enough"))
			<-swept // for the beginning of the preface
			if <-swept {
				t.Error("watched where it can't park")
			}
			nc.Write(tt.rest)
			until(t, "parked", c.handle.Parked)
		})
	}
}

// A socket that is closed by somebody who kept it, below a parked connection, is found:
// the open stream is told.
func TestClosedBelow(t *testing.T) {
	if !park.Supported() {
		t.Skip("not on this system")
	}
	nc, ns := socketPair(t, "tcp", 0)
	defer nc.Close()
	role := &testRole{}
	c := New(ns, protocol.Server, &protocol.Config{Pool: mem.DefaultBufferPool(), Pooled: true, StaticWindow: true}, role)
	c.Start()
	p := &testPeer{t: t}
	p.enc = newPeerEncoder(p)
	nc.Write(join([]byte(http2.ClientPreface), settings(), p.request(1, false)))
	until(t, "parked", c.handle.Parked)
	ns.Close()
	until(t, "the connection's end", func() bool { return c.Cause() != nil })
	until(t, "the stream's end", func() bool { return role.told("abort 1 " + c.Cause().Error()) })
}

// Where input comes seldom the reader parks at once, and then runs the last task itself,
// which may take as long as it likes: the next input has another reader.
func TestParksAtOnce(t *testing.T) {
	if !park.Supported() {
		t.Skip("not on this system")
	}
	nc, ns := socketPair(t, "tcp", 0)
	defer nc.Close()
	release := make(chan struct{})
	role := &testRole{}
	role.accept = func(s *testStream, _ *protocol.HeaderBlock) error {
		s.opened = func(bool) {
			s.Go(taskFunc(func() {
				role.add("begun %d", s.ID())
				<-release
				role.add("done %d", s.ID())
			}))
		}
		return nil
	}
	c := New(ns, protocol.Server, &protocol.Config{Pool: mem.DefaultBufferPool(), Pooled: true, StaticWindow: true}, role)
	c.Start()
	p := &testPeer{t: t}
	p.enc = newPeerEncoder(p)
	nc.Write(join([]byte(http2.ClientPreface), settings()))
	parked := func(left idlePredictor) {
		t.Helper()
		until(t, "parked", c.handle.Parked)
		if got := c.in.predictor & skipMask; got != left {
			t.Fatalf("it parks %d times without a wait, want %d", got, left)
		}
	}
	parked(3) // after a wait
	nc.Write(join(p.request(1, true), p.request(3, true)))
	until(t, "both begun", func() bool { return role.told("begun 1") && role.told("begun 3") })
	parked(2) // beside its tasks
	nc.Write(p.request(5, true))
	until(t, "the third begun", func() bool { return role.told("begun 5") })
	parked(1)
	nc.Write(p.request(7, true))
	until(t, "the fourth begun", func() bool { return role.told("begun 7") })
	parked(0)
	// No park is left that has no wait: a task is not held back for one.
	nc.Write(p.request(9, true))
	until(t, "the fifth begun", func() bool { return role.told("begun 9") })
	close(release)
	for id := 1; id <= 9; id += 2 {
		until(t, "all done", func() bool { return role.told(fmt.Sprintf("done %d", id)) })
	}
	parked(7) // after a wait
	c.Close(errors.New("enough"))
	until(t, "told", func() bool { return role.told("closed: enough") })
}

// Connections that have input in the same bursts do not all wait for more after the same one.
func TestBurstsAreNotWaitedForByAll(t *testing.T) {
	conns, peers := openMany(t, 0)
	for burst, left := range []idlePredictor{3, 2, 1, 0, 7, 6} {
		for _, c := range conns {
			until(t, "parked", c.handle.Parked)
			if got := c.in.predictor & skipMask; got != left {
				t.Fatalf("burst %d: it parks %d times without a wait, want %d", burst, got, left)
			}
		}
		if waiting := (*park.Ground)(nil).Sweeper().Len(); waiting > 0 {
			t.Errorf("burst %d: %d wait when all are parked", burst, waiting)
		}
		for _, nc := range peers {
			pingOnce(t, nc, nil)
		}
		if waiting := (*park.Ground)(nil).Sweeper().Len(); waiting > park.MaxTries {
			t.Errorf("burst %d: %d wait for more", burst, waiting)
		}
	}
}

// Nor do new ones.
func TestNewConnectionsAreNotWaitedForByAll(t *testing.T) {
	conns, _ := openMany(t, untried)
	if waiting := (*park.Ground)(nil).Sweeper().Len(); waiting > park.MaxTries {
		t.Errorf("%d wait for more", waiting)
	}
	for _, c := range conns {
		until(t, "parked", c.handle.Parked)
	}
}

// openMany opens connections that predict as h does, more than may wait for more at a time, and has each answer.
func openMany(t *testing.T, h idlePredictor) (conns []*Conn, peers []net.Conn) {
	t.Helper()
	if !park.Supported() {
		t.Skip("not on this system")
	}
	for range 2*park.MaxTries + 10 {
		nc, ns := socketPair(t, "unix", 0)
		t.Cleanup(func() { nc.Close() })
		c := New(ns, protocol.Server, &protocol.Config{Pool: mem.DefaultBufferPool(), Pooled: true, StaticWindow: true}, &testRole{})
		c.in.predictor = h
		c.Start()
		t.Cleanup(func() {
			c.Close(errors.New("enough"))
			until(t, "the reader's end", func() bool { return c.Cause() != nil })
		})
		pingOnce(t, nc, join([]byte(http2.ClientPreface), settings()))
		conns, peers = append(conns, c), append(peers, nc)
	}
	return conns, peers
}

// pingOnce sends something, and a PING, and waits for its answer.
func pingOnce(t *testing.T, nc net.Conn, before []byte) {
	t.Helper()
	nc.SetDeadline(time.Now().Add(patience))
	nc.Write(join(before, raw(http2.FramePing, 0, 0, make([]byte, 8))))
	for fr := http2.NewFramer(nil, nc); ; {
		f, err := fr.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if f.Header().Type == http2.FramePing {
			return
		}
	}
}

type taskFunc func()

func (f taskFunc) Run() { f() }
