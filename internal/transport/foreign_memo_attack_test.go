// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/hpack"
)

// parkable is an attacker over a socket, whose connection can be parked.
func parkable(t *testing.T, s *testServer) *attacker {
	t.Helper()
	needsParking(t)
	nc, err := net.Dial("unix", s.lis.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	p := &rawPeer{t: t, nc: nc, rd: bufio.NewReader(nc)}
	p.write(append([]byte(rawPreface), frame.AppendSettings(nil)...))
	return &attacker{rawPeer: p}
}

func waitParked(t *testing.T, n int64) {
	t.Helper()
	waitFor(t, "all to park", func() bool { return park.ReadStats().Parked == n })
}

// tableBlock fills a table with the fields of a request and name: value; refs is a block of
// references alone.
func tableBlock(fields ...string) (insert, refs []byte) {
	var e hpack.Encoder
	insert = e.Begin(nil)
	for i := 0; i < len(fields); i += 2 {
		insert = e.AppendField(insert, fields[i], fields[i+1], hpack.Incremental)
	}
	for i := 0; i < len(fields); i += 2 {
		refs = e.AppendField(refs, fields[i], fields[i+1], hpack.Incremental)
	}
	return insert, refs
}

func requestWith(fields ...string) []string {
	return append(append([]string{}, requestFields...), fields...)
}

// A request that is copied for another connection while one of the original's streams ends: the
// copy reads what the original's account counts its holders with.
func TestAttackCopyRacesWithHolders(t *testing.T) {
	s := startServer(t, "unix", ServerConfig{Policy: oftenPings}, idleHandler)
	insert, refs := tableBlock(requestWith("token", "secret")...)
	const conns = 8
	var all [conns]*attacker
	for i := range all {
		all[i] = parkable(t, s)
		all[i].headers(1, insert, true)
		all[i].send(frame.AppendRSTStream(nil, 1, frame.Cancel))
		all[i].settle()
	}
	waitParked(t, conns)
	id := uint32(3)
	for round := range 40 {
		b := append(bytes.Clone(refs), block("round", fmt.Sprint(round))...)
		one := all[round%conns]
		one.headers(id, b, false)
		waitFor(t, "the call", func() bool {
			n := 0
			s.each(func(c *Server) { n += c.Stats().Streams })
			return n >= 1
		})
		waitParked(t, conns)
		var wg sync.WaitGroup
		for _, a := range all {
			wg.Go(func() {
				if a == one {
					a.send(frame.AppendRSTStream(nil, id, frame.Cancel))
					return
				}
				a.headers(id, b, false)
				a.send(frame.AppendRSTStream(nil, id, frame.Cancel))
			})
		}
		wg.Wait()
		waitFor(t, "calls to end", func() bool {
			n := 0
			s.each(func(c *Server) { n += c.Stats().Streams })
			return n == 0
		})
		waitParked(t, conns)
		id += 2
	}
}

// openMany opens n streams with b on a, in one go, and returns how many requests were made of
// them, what is charged for each, and how many were refused.
func openMany(t *testing.T, s *testServer, a *attacker, c func() *Server, first uint32, n int, b []byte, reqs, ran func() int) (distinct, each, refused int) {
	before, known := c().Stats().Held, reqs()
	var flood []byte
	for i := range n {
		flood = append(flood, fieldBlock(headersParams{StreamID: first + uint32(2*i), Block: b})...)
	}
	a.send(flood)
	refused = len(a.settle())
	if refused == n {
		return 0, 0, refused
	}
	waitFor(t, "all handlers", func() bool { return c().Stats().Streams == n-refused })
	waitFor(t, "all to run", func() bool { return ran() >= n-refused })
	return reqs() - known, (c().Stats().Held - before) / (n - refused), refused
}

// A connection that stays awake with another's memo.
func TestAttackForeignMemoIsNeverOwn(t *testing.T) {
	for _, bound := range []int64{0, 4 << 20} {
		t.Run(fmt.Sprint("bound ", bound), func(t *testing.T) {
			const n = 3000
			token := strings.Repeat("t", 1500)
			insert, refs := tableBlock(requestWith("token", token)...)
			measure := func(parks bool) (distinct, each, refused int) {
				var mu sync.Mutex
				seen := map[*request]bool{}
				begun := 0
				s := startServer(t, "unix", ServerConfig{Tuning: Tuning{MaxBytesHeld: bound}, Policy: oftenPings}, func(s *ServerStream) {
					mu.Lock()
					seen[s.req] = true
					begun++
					mu.Unlock()
					idleHandler(s)
				})
				defer s.stop()
				reqs := func() int { mu.Lock(); defer mu.Unlock(); return len(seen) }
				running := func() int { mu.Lock(); defer mu.Unlock(); return begun }
				a := parkable(t, s)
				a.headers(1, insert, true)
				a.headers(3, refs, true)
				for _, id := range []uint32{1, 3} {
					a.send(frame.AppendRSTStream(nil, id, frame.Cancel))
				}
				a.settle()
				if parks {
					for id := uint32(5); id < 41; id += 2 { // the decoder is thawed once before it stands
						waitParked(t, 1)
						a.headers(id, refs, true)
						a.send(frame.AppendRSTStream(nil, id, frame.Cancel))
						a.settle()
					}
					waitParked(t, 1)
				}
				was := running()
				d, e, r := openMany(t, s, a, s.only, 101, n, refs, reqs, func() int { return running() - was })
				a.nc.Close()
				waitFor(t, "the end", func() bool { return s.only() == nil })
				return d, e, r
			}
			d0, e0, r0 := measure(false)
			d1, e1, r1 := measure(true)
			t.Logf("its own memo: %d requests made, %d bytes charged a stream, %d of %d refused", d0, e0, r0, n)
			t.Logf("another's:    %d requests made, %d bytes charged a stream, %d of %d refused", d1, e1, r1, n)
			if d1 > d0+n/10 || e1 > 2*e0 || r1 > r0 {
				t.Errorf("with another's memo: %d requests of %d streams, with its own: %d; charged %d and %d bytes a stream; refused %d and %d", d1, n, d0, e1, e0, r1, r0)
			}
		})
	}
}
