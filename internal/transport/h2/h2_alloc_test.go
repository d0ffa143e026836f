// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"sync"
	"testing"

	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/protocol"
	"google.golang.org/grpc/mem"
)

// spin is one call of a role that keeps nothing and allocates only its stream:
// it shows what the connection itself costs.
type spin struct {
	Stream
	role *spinRole
	buf  [256]byte
	done chan struct{}
}

type spinRole struct {
	held   protocol.Shared
	server bool
	data   protocol.Pieces // of the reply
	closed chan struct{}
	pool   sync.Pool
}

func newSpinRole(server bool) *spinRole {
	r := &spinRole{server: server, closed: make(chan struct{}), data: protocol.OnePiece(mem.SliceBuffer(make([]byte, 100)))}
	r.pool.New = func() any {
		s := &spin{role: r, done: make(chan struct{}, 1)}
		return s
	}
	return r
}

// stream is a fresh one; reuse is for tests only, as a Stream is never reused.
func (r *spinRole) stream() *spin {
	s := r.pool.Get().(*spin)
	s.Stream = Stream{}
	s.Init(s, 0)
	return s
}

func (r *spinRole) Accept(b *protocol.HeaderBlock, _ bool) (*Stream, error) {
	b.SetMemo(r, &r.held)
	return &r.stream().Stream, nil
}
func (r *spinRole) Opened(*Stream, bool)         {}
func (r *spinRole) BatchEnd()                    {}
func (r *spinRole) Ready()                       {}
func (r *spinRole) PingReceived(int, bool) error { return nil }
func (r *spinRole) AliveAsked()                  {}
func (r *spinRole) GoAway(frame.ErrCode, []byte) {}
func (r *spinRole) Closed(error)                 { close(r.closed) }

func (s *spin) OnHeaders(b *protocol.HeaderBlock, end bool) error {
	b.SetMemo(s.role, &s.role.held)
	if end {
		s.done <- struct{}{}
	}
	return nil
}
func (s *spin) Take([]byte, int, int) (int, error) { return 0, nil }
func (s *spin) Space(n, _ int) []byte              { return s.buf[:min(n, len(s.buf))] }
func (s *spin) Filled(n int) (int, error)          { return 0, nil }

// Static field sources, as a role has them for what never changes.
var spinRequest, spinResponse, spinTrailers protocol.FieldSource = &request, &response, &trailers

func (s *spin) OnEnd() error {
	if !s.role.server {
		return nil
	}
	s.Done()
	_ = s.Send(protocol.Frames{Headers: spinResponse, HasData: true, Data: s.role.data, Trailers: spinTrailers})
	s.role.pool.Put(s)
	return nil
}

func (s *spin) OnAbort(*protocol.StreamError) {
	select {
	case s.done <- struct{}{}:
	default:
	}
}

func (r *spinRole) call(c *Conn) error {
	s := r.stream()
	if err := c.Open(&s.Stream, protocol.Frames{Headers: spinRequest, HasData: true, Data: r.data, End: true}, nil); err != nil {
		return err
	}
	<-s.done
	r.pool.Put(s)
	return nil
}

func spinPair(t testing.TB, network string) (*Conn, *spinRole) {
	nc, ns := socketPair(t, network, 0)
	cfg := &protocol.Config{Pool: mem.DefaultBufferPool(), Pooled: true, StreamWindow: 1 << 20, ConnWindow: 1 << 20, StaticWindow: true}
	client, server := newSpinRole(false), newSpinRole(true)
	s := New(ns, protocol.Server, cfg, server)
	s.Start()
	c := New(nc, protocol.Client, cfg, client)
	c.Start()
	t.Cleanup(func() {
		c.Close(nil)
		s.Close(nil)
		<-client.closed
		<-server.closed
	})
	return c, client
}

// A call costs the connections at both ends nothing that lasts, and no
// allocation but for the maps of streams, which now and then get new memory.
func TestCallAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	c, role := spinPair(t, "unix")
	for range 200 {
		if err := role.call(c); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(2000, func() { role.call(c) }); n > 1 {
		t.Errorf("%v allocations a call, both ends together", n)
	}
}

func BenchmarkCalls(b *testing.B) {
	for _, callers := range []int{1, 64} {
		for _, network := range []string{"unix", "tcp"} {
			b.Run(network+"/"+map[int]string{1: "1", 64: "64"}[callers], func(b *testing.B) {
				c, role := spinPair(b, network)
				b.ReportAllocs()
				var wg sync.WaitGroup
				each := b.N/callers + 1
				b.ResetTimer()
				for range callers {
					wg.Go(func() {
						for range each {
							if role.call(c) != nil {
								return
							}
						}
					})
				}
				wg.Wait()
			})
		}
	}
}
