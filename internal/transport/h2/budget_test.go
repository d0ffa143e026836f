// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	xhpack "golang.org/x/net/http2/hpack"
	imem "google.golang.org/grpc/internal/mem"
	"google.golang.org/grpc/internal/transport/h2/protocol"
	"google.golang.org/grpc/mem"
)

// floodServer serves any number of connections, with handlers that take until
// release is closed if it is not nil.
type floodServer struct {
	t     testing.TB
	role  *testRole
	cfg   protocol.Config
	conns []*Conn
}

func (f *floodServer) connect() net.Conn {
	nc, ns := socketPair(f.t, "unix", 0)
	c := New(ns, protocol.Server, &f.cfg, f.role)
	f.conns = append(f.conns, c)
	c.Start()
	f.t.Cleanup(func() { nc.Close(); c.Close(nil) })
	return nc
}

// usage is what a flood may not raise without bound.
type usage struct {
	heap, lent int64
	goroutines int
}

func measure() usage {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{int64(m.HeapAlloc), imem.Default().Stats().Bytes, runtime.NumGoroutine()}
}

// TestFloods: an attacker sends for a while, or until it is cut off. Neither
// memory nor goroutines grow beyond a bound, and a client that behaves, on a
// connection of its own, is served meanwhile.
func TestFloods(t *testing.T) {
	const frames = 30_000
	repeat := func(b []byte) func(int) []byte { return func(int) []byte { return b } }
	var encB strings.Builder
	enc := xhpack.NewEncoder(&encB)
	for i := 0; i < len(request); i += 2 {
		// Nothing enters the table: each block can be sent again.
		enc.WriteField(xhpack.HeaderField{Name: request[i], Value: request[i+1], Sensitive: true})
	}
	block := []byte(encB.String())
	open := func(id uint32, end bool) []byte {
		return onWire(func(f *http2.Framer) {
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block, EndHeaders: true, EndStream: end})
		})
	}
	tests := []struct {
		name  string
		first []byte
		frame func(i int) []byte
		max   uint32 // MaxStreams
		stuck bool   // handlers don't return
		reads bool   // the attacker reads what it is sent
		keeps bool   // the handler doesn't take what it is sent
		lent  int64  // of the pool that may be held: 1 MiB, if it is 0
		only  bool   // the handler answers with nothing but trailers
		cut   bool   // the connection ends, as the frames serve nothing
	}{
		{name: "PING", frame: repeat(ping("12345678"))},
		{name: "PING, answers read", frame: repeat(ping("12345678")), reads: true, cut: true},
		{name: "SETTINGS", frame: repeat(settings(3, 1))},
		{name: "SETTINGS without content", frame: repeat(settings()), reads: true, cut: true},
		{name: "PRIORITY", frame: repeat(raw(fPriority, 0, 1, make([]byte, 5))), cut: true},
		{name: "unknown frames", frame: repeat(raw(0x99, 0, 1, []byte("x"))), cut: true},
		{name: "RST_STREAM", first: join(open(1, false), rst(1, 8)), frame: repeat(rst(1, 8)), cut: true},
		{name: "GOAWAY", frame: repeat(goAway(1, 0, strings.Repeat("x", 1000)))},
		{name: "empty DATA", first: open(1, false), frame: repeat(data(1, "", false)), cut: true},
		{name: "one-byte DATA", first: open(1, false), frame: repeat(data(1, "x", false)), reads: true},
		{name: "padding only", first: open(1, false), frame: repeat(raw(fData, 8, 1, append([]byte{9}, make([]byte, 9)...))), reads: true},
		{name: "DATA on a stream that is gone", first: join(open(1, false), rst(1, 8)), frame: repeat(data(1, "x", false)), reads: true},
		{name: "DATA on a stream that is gone, updates not read", first: join(open(1, false), rst(1, 8)), frame: repeat(data(1, strings.Repeat("x", 9000), false))},
		{name: "window overrun", first: open(1, false), frame: repeat(data(1, strings.Repeat("x", 16000), false)), reads: true, keeps: true},
		{name: "HEADERS on a stream that is gone", first: join(open(1, false), rst(1, 8)), frame: repeat(open(1, true)), reads: true},
		{name: "rapid reset, limit", frame: func(i int) []byte { return join(open(uint32(2*i+1), false), rst(uint32(2*i+1), 8)) }, max: 100, reads: true},
		{name: "rapid reset, limit, stuck handlers", frame: func(i int) []byte { return join(open(uint32(2*i+1), false), rst(uint32(2*i+1), 8)) }, max: 100, stuck: true, reads: true},
		{name: "rapid reset, no limit, stuck handlers", frame: func(i int) []byte { return join(open(uint32(2*i+1), false), rst(uint32(2*i+1), 8)) }, stuck: true},
		{name: "resets the server is made to send", frame: func(i int) []byte {
			return join(open(uint32(2*i+1), false), window(uint32(2*i+1), 0))
		}, max: 100, stuck: true},
		{name: "resets the server is made to send, by overflow", frame: func(i int) []byte {
			return join(open(uint32(2*i+1), false), window(uint32(2*i+1), 1<<31-1))
		}, max: 100},
		{name: "streams above the limit", frame: func(i int) []byte { return open(uint32(2*i+1), false) }, max: 10, stuck: true},
		{name: "requests whose replies are not read", frame: func(i int) []byte { return open(uint32(2*i+1), true) }, only: true, lent: 6 << 20},
		{name: "CONTINUATION without end", first: raw(fHeaders, 0, 1, block), frame: repeat(raw(fContinuation, 0, 1, []byte(strings.Repeat("\x00\x01a\x01b", 3000))))},
		{name: "empty CONTINUATION", first: raw(fHeaders, 0, 1, block), frame: repeat(raw(fContinuation, 0, 1, nil))},
		{name: "header list over the limit", frame: func(i int) []byte {
			return raw(fHeaders, 4|1, uint32(2*i+1), []byte(strings.Repeat("\x00\x01a\x01b", 3000)))
		}},
		{name: "the same stream error again and again", first: join(open(1, false), rst(1, 8)), frame: repeat(raw(fWindow, 0, 1, make([]byte, 4)))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			alive, stop := watchdog(t.Name())
			defer stop()
			role := echoRole()
			release := make(chan struct{})
			if tt.stuck {
				echo := role.accept
				role.accept = func(s *testStream, b *protocol.HeaderBlock) error {
					echo(s, b)
					for i := range b.Len() {
						if string(b.Name(i)) == ":path" && string(b.Value(i)) == "/good" {
							return nil
						}
					}
					done := s.done
					over := make(chan struct{})
					s.opened = func(bool) { go func() { <-over; <-release; done() }() }
					closed := false
					s.done = func() {
						if !closed {
							closed = true
							close(over)
						}
					}
					return nil
				}
			}
			if tt.only {
				echo := role.accept
				role.accept = func(s *testStream, b *protocol.HeaderBlock) error {
					if b.Len() == 0 || string(b.Value(1)) == "/good" {
						return echo(s, b)
					}
					s.opened = func(bool) {
						s.Send(protocol.Frames{Trailers: longTrailers{}})
						role.done(s)
					}
					return nil
				}
			}
			role.greedy = !tt.keeps
			fs := &floodServer{t: t, role: role, cfg: protocol.Config{
				Pool: mem.DefaultBufferPool(), Pooled: true, MaxStreams: tt.max, MaxHeaderList: 8 << 10, StaticWindow: true,
			}}
			// The client that behaves.
			good := &testRole{quiet: true, greedy: true}
			cc := New(fs.connect(), protocol.Client, &protocol.Config{Pool: mem.DefaultBufferPool()}, good)
			cc.Start()
			defer cc.Close(nil)
			works := func() {
				t.Helper()
				s := newTestStream(good)
				over := make(chan struct{})
				s.done = func() { close(over) }
				f := message("hello")
				f.Headers, f.End = fieldList{":method", "POST", ":path", "/good"}, true
				if err := cc.Open(&s.Stream, f, nil); err != nil {
					t.Fatal(err)
				}
				<-over
				if !strings.HasSuffix(s.received(), "hello") {
					t.Fatalf("the other client got %q", s.received())
				}
			}
			works()
			before := measure()

			nc := fs.connect()
			attacked := fs.conns[1]
			if tt.reads {
				go func() {
					b := make([]byte, 64<<10)
					for {
						if _, err := nc.Read(b); err != nil {
							return
						}
					}
				}()
			}
			sent := make(chan error, 1)
			patience := 300 * time.Millisecond // it is not read any more
			if tt.cut {
				patience = 10 * time.Second
			}
			go func() {
				var b []byte
				_, err := nc.Write(join([]byte(http2.ClientPreface), settings(), tt.first))
				for i := 0; i < frames && err == nil; i++ {
					if b = append(b, tt.frame(i)...); len(b) > 32<<10 {
						nc.SetWriteDeadline(time.Now().Add(patience))
						_, err = nc.Write(b)
						b = b[:0]
						alive()
					}
				}
				sent <- err
			}()
			err := <-sent
			works()
			if tt.cut {
				until(t, "the connection to end", func() bool { return attacked.Cause() != nil })
				if got := attacked.Cause().Error(); !strings.Contains(got, "too many frames that serve nothing") {
					t.Errorf("the connection ended with %s", got)
				}
			}
			after := measure()
			role.mu.Lock()
			most := role.most
			role.mu.Unlock()
			attacked.mu.Lock()
			queued := attacked.core.Encoded()
			attacked.mu.Unlock()
			t.Logf("ended with %v; at most %d handlers, %d bytes queued; heap %+d KB, lent %+d KB, goroutines %+d",
				err, most, queued, (after.heap-before.heap)>>10, (after.lent-before.lent)>>10, after.goroutines-before.goroutines)
			limit := protocol.MaxOrphans + 2
			if tt.max > 0 {
				limit = int(tt.max)
			}
			if tt.stuck && most > limit+1 { // and the one of the client that behaves
				t.Errorf("%d handlers at once", most)
			}
			if d := after.lent - before.lent; d > max(tt.lent, 1<<20) {
				t.Errorf("%d bytes of the pool are held", d)
			}
			if d := after.heap - before.heap; d > 8<<20+2*tt.lent {
				t.Errorf("the heap grew by %d bytes", d)
			}
			if d := after.goroutines - before.goroutines; d > 2*limit+20 {
				t.Errorf("%d more goroutines", d)
			}
			nc.Close()
			close(release)
			if tt.stuck {
				awaitIdle(t, role)
			}
		})
	}
}

// longTrailers are 1 KB of which nothing enters a table.
type longTrailers struct{}

func (longTrailers) AppendFields(w *protocol.FieldWriter) { w.Once("k", strings.Repeat("~", 1000)) }

// Replies that a peer does not read hold up its requests, and not for longer.
func TestRepliesNotRead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const n = 3000
		p := newPeer(t, protocol.Server, peerConfig{accept: func(s *testStream, _ *protocol.HeaderBlock) error {
			s.opened = func(bool) {
				s.Send(protocol.Frames{Trailers: longTrailers{}})
				s.role.done(s)
			}
			return nil
		}})
		p.role.quiet = true
		p.nc.in.set(func() { p.nc.in.limit = 1000 })
		for i := range n {
			p.nc.Write(p.request(uint32(2*i+1), true))
		}
		p.settle()
		if q := p.conn.core.Encoded(); q < protocol.MaxOutput || q > protocol.MaxOutput+2000 {
			t.Errorf("%d bytes are queued", q)
		}
		p.nc.in.set(func() { p.nc.in.limit = 1 << 20 })
		got := 0
		for range 100 { // the socket is not full any more
			got += len(p.frames())
			p.settle()
		}
		if got != n {
			t.Errorf("%d replies to %d requests", got, n)
		}
	})
}

// Handlers that do not return keep the peer from opening streams, and where others
// are open from nothing else: after a moment in which one might return reading goes
// on, so that the other handlers hear what they wait for.
func TestStuckHandlers(t *testing.T) {
	for limit, stuck := range map[uint32]int{0: protocol.MaxOrphans, 10: 9} {
		bubble(t, func(t *testing.T) {
			p := newPeer(t, protocol.Server, peerConfig{Config: protocol.Config{MaxStreams: limit}})
			id := uint32(1)
			request := func() []byte { return p.request(id, true) }
			opened := func() string { return fmt.Sprintf("opened %d :method=POST :path=/x end", id) }
			refused := func() string { return fmt.Sprintf("RST %d REFUSED_STREAM", id) }
			p.send(p.request(id, false)) // stays open
			id += 2
			for range stuck {
				p.send(request(), rst(id, 8))
				id += 2
			}
			p.role.take()

			p.send(request())
			p.wantTold()
			time.Sleep(protocol.HandlerPatience / 2)
			p.role.done(p.role.stream(3))
			p.wantTold(opened())
			p.send(rst(id, 8))
			p.role.take()

			id += 2
			p.send(request(), ping("12345678"))
			p.want()
			time.Sleep(protocol.HandlerPatience)
			p.want(refused(), "PING ack 12345678")

			id += 2
			p.send(request(), ping("12345678")) // nobody has returned since
			p.want(refused(), "PING ack 12345678")

			for i := range uint32(3) { // one returns, and its place is taken at once
				p.role.done(p.role.stream(5 + 2*i))
				id += 2
				p.send(request())
				p.wantTold(opened())
				p.want()
				p.send(rst(id, 8))
				p.role.take()

				id += 2
				p.send(request(), ping("12345678"))
				p.want(refused(), "PING ack 12345678")
			}

			for i := range stuck/4 + 1 {
				p.role.done(p.role.stream(uint32(11 + 2*i)))
			}
			for range stuck/4 + 1 {
				id += 2
				p.send(request(), rst(id, 8))
				p.role.take()
			}
			id += 2
			p.send(request(), ping("12345678")) // it waits again
			p.want()
			time.Sleep(protocol.HandlerPatience)
			p.want(refused(), "PING ack 12345678")
		})
	}
}

// TestStuckHandlersBesideStreams: orphans are few beside open streams, and are stuck all the same.
func TestStuckHandlersBesideStreams(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Server, peerConfig{Config: protocol.Config{MaxStreams: 10}})
		const open, stuck = 6, 4
		id := uint32(1)
		for i := range open + stuck {
			p.send(p.request(id, i < open))
			if i >= open {
				p.send(rst(id, 8))
			}
			id += 2
		}
		p.role.take()
		refusedAtOnce := func() {
			p.send(p.request(id, true), ping("12345678"))
			p.want(fmt.Sprintf("RST %d REFUSED_STREAM", id), "PING ack 12345678")
			id += 2
		}
		refusedLate := func() {
			p.send(p.request(id, true), ping("12345678"))
			p.want()
			time.Sleep(protocol.HandlerPatience)
			p.want(fmt.Sprintf("RST %d REFUSED_STREAM", id), "PING ack 12345678")
			id += 2
		}
		refusedLate()
		refusedAtOnce()
		p.send(rst(1, 8)) // one that may return soon, unlike those
		p.send(p.request(id, true))
		p.role.take()
		p.want()
		p.role.done(p.role.stream(1))
		p.wantTold(fmt.Sprintf("opened %d :method=POST :path=/x end", id))
		id += 2
		refusedAtOnce()
		p.role.done(p.role.stream(1 + 2*open)) // one of those returns, and its place is taken at once
		p.send(p.request(id, true))
		id += 2
		p.role.take()
		refusedAtOnce()
	})
}

// Also where no other stream is open the wait has an end: a connection that waited for
// handlers which never return would answer nothing, and its peer give it up.
func TestOnlyStuckHandlers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Server, peerConfig{Config: protocol.Config{MaxStreams: 1}})
		p.send(p.request(1, true), rst(1, 8))
		p.role.take()
		p.send(p.request(3, true), ping("12345678"))
		p.want()
		time.Sleep(protocol.HandlerPatience)
		p.wantTold()
		p.want("RST 3 REFUSED_STREAM", "PING ack 12345678")
		p.send(p.request(5, true), ping("12345678")) // nobody has returned since
		p.want("RST 5 REFUSED_STREAM", "PING ack 12345678")
		p.role.done(p.role.stream(1))
		p.send(p.request(7, true))
		p.wantTold("opened 7 :method=POST :path=/x end")
		p.want()
	})
}

// TestSlowAttackers: many connections that each send a part of something hold
// little each.
func TestSlowAttackers(t *testing.T) {
	const n = 200
	for name, part := range map[string][]byte{
		"preface": []byte(http2.ClientPreface)[:20],
		"header":  join([]byte(http2.ClientPreface), settings(), []byte{0, 0x40, 0}),
		"headers": join([]byte(http2.ClientPreface), settings(), raw(fHeaders, 4, 1, make([]byte, 16384))[:40]),
		"body":    join([]byte(http2.ClientPreface), settings(), raw(fHeaders, 4, 1, []byte{0x83, 0x84}), data(1, strings.Repeat("x", 16384), false)[:40]),
	} {
		t.Run(name, func(t *testing.T) {
			fs := &floodServer{t: t, role: echoRole(), cfg: protocol.Config{Pool: mem.DefaultBufferPool(), Pooled: true}}
			before := measure()
			for range n {
				if _, err := fs.connect().Write(part); err != nil {
					t.Fatal(err)
				}
			}
			var after usage
			for deadline := time.Now().Add(patience); ; <-time.After(time.Millisecond) {
				if after = measure(); after.lent-before.lent < n*1024 {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("%d bytes of the pool are held for each connection", (after.lent-before.lent)/n)
				}
			}
			if d := (after.heap - before.heap) / n; d > 40<<10 {
				t.Errorf("%d bytes of heap for each connection", d)
			}
		})
	}
}
