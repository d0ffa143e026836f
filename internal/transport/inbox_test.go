// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/mem"
)

func testMessage(n int, compressed bool) grpcwire.Message {
	body := []byte(strings.Repeat(string(rune('a'+n%26)), n))
	m := grpcwire.NewSmall(body[:min(n, 104)], compressed)
	if n > 104 {
		m.Data, m.Len, m.Held = grpcwire.BytesOf(body), n, uint32(n+96)
	}
	return m
}

// TestInbox: messages come out as they went in, and what they take is counted to the byte
// that it began with.
func TestInbox(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var q inbox
		var want []grpcwire.Message
		for range 300 {
			if rnd.IntN(5) < 3 {
				n := []int{0, 1, 40, 41, 104, 105, 3000}[rnd.IntN(7)]
				m := testMessage(n, rnd.IntN(2) == 0)
				want = append(want, m)
				if q.push(m) != (len(want) > 1 && m.Len <= 104) {
					t.Fatalf("message %d of %d bytes: copied or not", len(want), m.Len)
				}
			} else if m, ok := q.pop(); ok != (len(want) > 0) {
				t.Fatalf("pop says %v with %d messages", ok, len(want))
			} else if ok {
				w := want[0]
				want = want[1:]
				if m.Len != w.Len || m.Compressed != w.Compressed || m.Held != w.Held ||
					string(m.Data.ReadOnlyData()) != string(w.Data.ReadOnlyData()) {
					t.Fatalf("got %+v, want %+v", m, w)
				}
			}
			if q.len() != len(want) {
				t.Fatalf("len %d, want %d", q.len(), len(want))
			}
			if len(want) == 0 && q.held() != 0 {
				t.Fatalf("empty, it holds %d bytes", q.held())
			}
		}
		q.drop()
		if q.held() != 0 || q.len() != 0 {
			t.Fatalf("dropped, it holds %d bytes", q.held())
		}
	}
}

// TestInboxIsCompact: messages that wait take no more than four times their size on the
// wire, but for a few.
func TestInboxIsCompact(t *testing.T) {
	const few = 600
	for _, n := range []int{0, 1, 2, 10, 40, 41, 104, 105, 130, 255, 257, 513, 5000} {
		var a grpcwire.Assembler
		a.Init(new(mem.DefaultBufferPool()), 1<<20)
		var q inbox
		wire := messagePrefix(uint32(n))
		wire = append(wire, make([]byte, n)...)
		for sent := len(wire); sent < 1<<16; sent += len(wire) {
			m := assemble(t, &a, wire)
			if q.push(m) {
				a.Reuse(m)
			}
			if held := q.held() + a.Held(); held > 4*sent+few {
				t.Fatalf("messages of %d bytes, %d bytes sent: %d are held", n, sent, held)
			}
		}
		a.Abort()
		q.drop()
	}
}

// TestSmallMessagesAtOnce: what arrives behind a message, and nobody has read, is taken a run of
// messages at a time, for about what its bytes cost; they are all there, and are charged.
func TestSmallMessagesAtOnce(t *testing.T) {
	const n = 5000
	var b body
	b.asm.Init(new(mem.DefaultBufferPool()), 100)
	one := append(messagePrefix(1), 'x')
	wire := bytes.Repeat(one, n)
	if _, err := b.take(piece{p: wire, n: len(wire), ahead: len(wire)}, nil); err != nil {
		t.Fatal(err)
	}
	if got := b.inbox.len(); got != n {
		t.Fatalf("%d messages, want %d", got, n)
	}
	if held := b.change(); held < 2*n || held > 4*len(wire) {
		t.Errorf("%d bytes are charged for %d", held, len(wire))
	}
	allocs := testing.AllocsPerRun(10, func() {
		var b body
		b.asm = grpcwire.Assembler{}
		b.asm.Init(new(mem.DefaultBufferPool()), 100)
		_, _ = b.take(piece{p: wire, n: len(wire), ahead: len(wire)}, nil)
		b.close() // nor is each of them taken out to be dropped
	})
	if allocs > n/50 { // they are 43, and what goroutines of earlier tests make meanwhile
		t.Errorf("%v allocations for %d messages", allocs, n)
	}
	for range n {
		m, ok := b.inbox.pop()
		if !ok || string(m.Data.ReadOnlyData()) != "x" {
			t.Fatal("a message is not what it was")
		}
	}
	if b.change(); b.held != 0 {
		t.Errorf("%d bytes are held at last", b.held)
	}
}

// assemble is the message that wire, which arrives in one piece, makes.
func assemble(t *testing.T, a *grpcwire.Assembler, wire []byte) (m grpcwire.Message) {
	complete := false
	for n := 0; n < len(wire); {
		k := copy(a.Space(len(wire)-n, 2*(len(wire)-n)), wire[n:])
		n += k
		var err error
		if m, complete, err = a.Filled(k); err != nil {
			t.Fatal(err)
		}
	}
	if !complete {
		t.Fatal("the message is not complete")
	}
	return m
}
