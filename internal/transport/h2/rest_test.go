// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/transport/h2/protocol"
	"google.golang.org/grpc/mem"
)

// metered is a wrapper with a Read of its own. It tells what its reads return.
type metered struct {
	net.Conn
	mu     sync.Mutex
	sizes  []int // of the buffers that it is to fill
	onRead func()
	after  func()        // a Read that has ended
	idle   time.Duration // how long a Read may wait; 0: for ever
}

func (m *metered) Read(p []byte) (int, error) {
	m.mu.Lock()
	m.sizes = append(m.sizes, len(p))
	onRead, idle := m.onRead, m.idle
	m.mu.Unlock()
	if idle > 0 {
		_ = m.SetReadDeadline(time.Now().Add(idle))
		defer m.SetReadDeadline(time.Time{})
	}
	if onRead != nil {
		onRead()
	}
	n, err := m.Conn.Read(p)
	m.mu.Lock()
	after := m.after
	m.mu.Unlock()
	if after != nil {
		after()
	}
	return n, err
}

// lastSize is that of the buffer which was to be filled last.
func (m *metered) lastSize() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.sizes) == 0 {
		return 0
	}
	return m.sizes[len(m.sizes)-1]
}

// newRester opens a connection behind a wrapper.
func newRester(t *testing.T, network string, role *testRole) (c *Conn, wrapper *metered, peer net.Conn) {
	t.Helper()
	nc, ns := socketPair(t, network, 0)
	t.Cleanup(func() { nc.Close() })
	wrapper = &metered{Conn: ns}
	c = New(wrapper, protocol.Server, &protocol.Config{Pool: mem.DefaultBufferPool(), Pooled: true, StaticWindow: true}, role)
	c.Start()
	if !c.quiet.rests() {
		t.Skip("it does not rest on this system")
	}
	t.Cleanup(func() {
		c.Close(errors.New("enough"))
		until(t, "the reader's end", func() bool { return c.Cause() != nil })
	})
	return c, wrapper, nc
}

// isSlim reports whether the connection has only what one needs that waits.
func (c *Conn) isSlim() bool {
	return c.whoReads() == away
}

// A connection behind a wrapper with a Read of its own gives back what reading needs when it is quiet, with a
// stream open or not, and wakes for a frame; when it is closed meanwhile its stream is told.
func TestRests(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		role := &testRole{}
		c, wrapper, nc := newRester(t, network, role)
		p := &testPeer{t: t}
		p.enc = newPeerEncoder(p)
		nc.Write(join([]byte(http2.ClientPreface), settings(), raw(fSettings, 1, 0, nil), p.request(1, false)))
		for i := range 8 { // after waits, and without
			until(t, "slim", c.isSlim)
			pingOnce(t, nc, nil)
			until(t, "slim again", c.isSlim)
			if i == 7 { // by then it was left without a wait, too
				until(t, "a small buffer", func() bool { return wrapper.lastSize() <= 4<<10 })
			}
		}
		if c.handle.Parked() || c.WhyNot() == "" {
			t.Error("it parks")
		}
		c.Close(errors.New("enough"))
		until(t, "told", func() bool { return role.told("closed: enough") && role.told("abort 1 enough") })
	}
}

// Whoever ends a connection that rests, and however, the reader hears of it.
func TestRestEnds(t *testing.T) {
	for name, end := range map[string]func(c *Conn, wrapper *metered, peer net.Conn){
		"the peer closes":      func(_ *Conn, _ *metered, peer net.Conn) { peer.Close() },
		"the peer resets":      func(_ *Conn, _ *metered, peer net.Conn) { _ = peer.(*net.TCPConn).SetLinger(0); peer.Close() },
		"Close of the wrapper": func(_ *Conn, w *metered, _ net.Conn) { w.Close() },
		"Close below it":       func(_ *Conn, w *metered, _ net.Conn) { w.Conn.Close() },
		"a deadline":           func(_ *Conn, w *metered, _ net.Conn) { _ = w.SetReadDeadline(time.Unix(1, 0)) },
		"Close":                func(c *Conn, _ *metered, _ net.Conn) { c.Close(errors.New("enough")) },
		"Read ends the goroutine": func(_ *Conn, w *metered, peer net.Conn) {
			w.mu.Lock()
			w.after = runtime.Goexit
			w.mu.Unlock()
			peer.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			role := &testRole{}
			c, wrapper, nc := newRester(t, "tcp", role)
			pingOnce(t, nc, join([]byte(http2.ClientPreface), settings()))
			until(t, "slim", c.isSlim)
			end(c, wrapper, nc)
			until(t, "the end", func() bool { return c.Cause() != nil })
			until(t, "told", func() bool { return role.told("closed: " + c.Cause().Error()) })
			if name == "a deadline" && !errors.Is(c.Cause(), os.ErrDeadlineExceeded) || name == "the peer closes" && !errors.Is(c.Cause(), io.EOF) {
				t.Error(c.Cause())
			}
		})
	}
}

// A wrapper's idle timeout ends the connection at its time, and the wrapper is not asked again.
func TestRestMeetsIdleTimeout(t *testing.T) {
	for range 2 {
		c, wrapper, nc := newRester(t, "tcp", &testRole{})
		pingOnce(t, nc, join([]byte(http2.ClientPreface), settings()))
		until(t, "slim", c.isSlim)
		wrapper.mu.Lock()
		wrapper.idle = 2 * park.Linger
		wrapper.sizes = nil
		wrapper.mu.Unlock()
		began := time.Now()
		pingOnce(t, nc, nil)
		until(t, "the end", func() bool { return c.Cause() != nil })
		if !errors.Is(c.Cause(), os.ErrDeadlineExceeded) || time.Since(began) < 2*park.Linger {
			t.Errorf("%v after %v", c.Cause(), time.Since(began))
		}
		wrapper.mu.Lock()
		if n := len(wrapper.sizes); n != 1 {
			t.Errorf("%d reads after the PING", n)
		}
		wrapper.mu.Unlock()
	}
}

// The sweeper may come at any time: while the reader works, is about to wait, waits, or has just been woken.
// Nothing is lost by it, and in the end the connection is slim.
func TestSweeperAndRester(t *testing.T) {
	role := &testRole{}
	c, wrapper, nc := newRester(t, "tcp", role)
	stop := make(chan struct{})
	var sweeps sync.WaitGroup
	sweeps.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(rand.N(100 * time.Microsecond)):
				(*sweptConn)(c).Quiet()
			}
		}
	})
	pingOnce(t, nc, join([]byte(http2.ClientPreface), settings()))
	wrapper.mu.Lock()
	wrapper.onRead = func() { time.Sleep(rand.N(50 * time.Microsecond)) }
	wrapper.mu.Unlock()
	for range 500 {
		pingOnce(t, nc, nil)
	}
	close(stop)
	sweeps.Wait()
	until(t, "slim", c.isSlim)
	pingOnce(t, nc, nil)
}

// What the sweeper finds while the reader is at work is heeded before the next wait: the connection is watched again.
func TestSweptAtWork(t *testing.T) {
	var c *Conn
	ready := make(chan struct{})
	role := &testRole{onPing: func(int) error {
		<-ready
		(*sweptConn)(c).Quiet()
		return nil
	}}
	conn, _, nc := newRester(t, "tcp", role)
	c = conn
	close(ready)
	pingOnce(t, nc, join([]byte(http2.ClientPreface), settings()))
	until(t, "slim", c.isSlim)
	if c.quiet.Load() {
		t.Error("it is not heeded")
	}
}

// A layer that has more in hand than the frames that were read does not wait for the socket.
func TestRestsOverPrefix(t *testing.T) {
	if !park.Supported() {
		t.Skip("not on this system")
	}
	nc, ns := socketPair(t, "tcp", 0)
	defer nc.Close()
	first := join([]byte(http2.ClientPreface), settings(), raw(http2.FramePing, 0, 0, make([]byte, 8)))
	c := New(readyreader.NewSocket(&metered{Conn: ns}).Prefixed(first), protocol.Server, &protocol.Config{Pool: mem.DefaultBufferPool(), Pooled: true, StaticWindow: true}, &testRole{})
	c.Start()
	defer until(t, "the reader's end", func() bool { return c.Cause() != nil })
	defer c.Close(errors.New("enough"))
	pingOnce(t, nc, nil) // the answer to the first
	until(t, "slim", c.isSlim)
	pingOnce(t, nc, nil)
}
