// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/protocol"
	"google.golang.org/grpc/mem"
)

// socketPair is a connected pair of sockets whose buffers are n bytes.
func socketPair(t testing.TB, network string, n int) (client, server net.Conn) {
	t.Helper()
	client, server = testutils.Sockets(t, network)
	for _, c := range []net.Conn{client, server} {
		if b, ok := c.(interface {
			SetReadBuffer(int) error
			SetWriteBuffer(int) error
		}); ok && n > 0 {
			b.SetReadBuffer(n)
			b.SetWriteBuffer(n)
		}
	}
	return client, server
}

// echoRole answers each stream with its own body.
func echoRole() *testRole {
	return &testRole{quiet: true, greedy: true, accept: func(s *testStream, _ *protocol.HeaderBlock) error {
		s.done = sync.OnceFunc(func() { // it may be aborted after it has ended
			s.mu.Lock()
			aborted := s.abort != nil
			s.mu.Unlock()
			go func() {
				if body := s.received(); !aborted && len(body) >= 5 {
					f := message(body[5:])
					f.Headers, f.Trailers = response, trailers
					s.Send(f)
				} else {
					s.Reset(frame.Cancel)
				}
				s.role.done(s)
			}()
		})
		return nil
	}}
}

// pair runs both ends over a socket.
func pair(t testing.TB, nc, ns net.Conn, cc, cs protocol.Config) (client *Conn, role, server *testRole) {
	t.Helper()
	cc.Pool, cs.Pool = mem.DefaultBufferPool(), mem.DefaultBufferPool()
	role, server = &testRole{quiet: true, greedy: true}, echoRole()
	s := New(ns, protocol.Server, &cs, server)
	s.Start()
	client = New(nc, protocol.Client, &cc, role)
	client.Start()
	t.Cleanup(func() { client.Close(nil); s.Close(nil) })
	return client, role, server
}

// call sends body and checks that it comes back.
func call(c *Conn, role *testRole, body string) error {
	s := newTestStream(role)
	over := make(chan struct{})
	s.done = sync.OnceFunc(func() { close(over) })
	f := message(body)
	f.Headers, f.End = request, true
	if err := c.Open(&s.Stream, f, nil); err != nil {
		return err
	}
	<-over
	s.mu.Lock()
	abort := s.abort
	s.mu.Unlock()
	if abort != nil {
		return abort
	}
	if got := s.received(); len(got) < 5 || got[5:] != body {
		return fmt.Errorf("%d bytes came back of %d", len(got), len(body)+5)
	}
	return nil
}

// patience is for what takes milliseconds unless it hangs, on a busy machine.
const patience = 30 * time.Second

// watchdog shows where everyone hangs if a test doesn't call alive for a while.
func watchdog(what string) (alive, stop func()) {
	timer := time.AfterFunc(patience, func() { panic(what + ": no progress") })
	return func() { timer.Reset(patience) }, func() { timer.Stop() }
}

// TestManyAtOnce: however small the sockets' buffers are, all calls are
// answered: neither side may wait for the other to read before it reads itself.
func TestManyAtOnce(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		for _, buffer := range []int{4 << 10, 8 << 10, 64 << 10} {
			for _, n := range []int{512, 2048} {
				if n > 512 && (testing.Short() || raceEnabled) {
					continue
				}
				for _, plain := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s/%d/%d/plain=%v", network, buffer, n, plain), func(t *testing.T) {
						alive, stop := watchdog(t.Name())
						defer stop()
						nc, ns := socketPair(t, network, buffer)
						if plain {
							nc, ns = plainConn{nc}, plainConn{ns}
						}
						c, role, server := pair(t, nc, ns, protocol.Config{Pooled: true}, protocol.Config{Pooled: true})
						// Loopback TCP with buffers far below its segment size
						// moves only some 30 KB a second.
						body := strings.Repeat("b", min(2000, buffer/64))
						var wg sync.WaitGroup
						var failed atomic.Pointer[error]
						for range n {
							wg.Go(func() {
								if err := call(c, role, body); err != nil {
									failed.Store(&err)
								}
								alive()
							})
						}
						wg.Wait()
						if e := failed.Load(); e != nil {
							t.Fatal(*e)
						}
						awaitIdle(t, server)
					})
				}
			}
		}
	}
}

// awaitIdle waits until every handler has returned.
func awaitIdle(t testing.TB, r *testRole) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; {
		r.mu.Lock()
		live := r.live
		r.mu.Unlock()
		if live == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d handlers still run", live)
		}
		<-time.After(time.Millisecond)
	}
}

// TestRandomWindows moves bodies of all sizes through windows of all sizes. The
// receiver checks every frame against its windows (FLOW_CONTROL_ERROR), and the
// content must come back as it was: so both ends are the other's model.
func TestRandomWindows(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	size := func() uint32 { return 1 + rng.Uint32N(1<<(1+rng.IntN(18))) }
	for round := range 12 {
		alive, stop := watchdog(t.Name())
		nc, ns := socketPair(t, "unix", 4<<10)
		cc := protocol.Config{StreamWindow: size(), ConnWindow: size(), StaticWindow: round%2 == 0, Pooled: round%3 == 0}
		cs := protocol.Config{StreamWindow: size(), ConnWindow: size(), StaticWindow: round%2 == 0, MaxStreams: 1 + rng.Uint32N(20)}
		c, role, server := pair(t, nc, ns, cc, cs)
		var wg sync.WaitGroup
		for range 24 {
			body := strings.Repeat("abcdefg", int(size()/7/8))
			wg.Go(func() {
				err := call(c, role, body)
				var se *protocol.StreamError
				for errors.As(err, &se) && se.Unprocessed { // before the limit was known
					err = call(c, role, body)
				}
				alive()
				if err != nil {
					t.Errorf("client %+v server %+v: %v", cc, cs, err)
				}
			})
		}
		wg.Wait()
		awaitIdle(t, server)
		stop()
		if m := uint32(server.most); m > cs.MaxStreams {
			t.Errorf("%d handlers at once, the limit is %d", m, cs.MaxStreams)
		}
	}
}

// TestLastReplyArrives: a server that closes after its last reply loses nothing
// of it, though the client goes on sending.
func TestLastReplyArrives(t *testing.T) {
	alive, stop := watchdog("the last replies")
	defer stop()
	for range 20 {
		alive()
		nc, ns := socketPair(t, "tcp", 0)
		role := &testRole{quiet: true, greedy: true}
		var server *Conn
		sr := echoRole()
		cfg := &protocol.Config{Pool: mem.DefaultBufferPool(), StreamWindow: 1 << 20, ConnWindow: 1 << 20}
		server = New(ns, protocol.Server, cfg, sr)
		server.Start()
		c := New(nc, protocol.Client, cfg, role)
		c.Start()
		body := strings.Repeat("x", 300<<10)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				// Not to be let in is no loss.
				var se *protocol.StreamError
				if err := call(c, role, body); errors.As(err, &se) && !se.Unprocessed {
					t.Error(err)
				}
			})
		}
		server.Drain(0, "bye")
		wg.Wait()
		c.Close(nil)
		server.Close(nil)
		awaitIdle(t, sr)
	}
}
