// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"testing"

	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/mem"
)

// TestPiles: the reader lets others run where much waits to be taken, but not behind each small frame.
func TestPiles(t *testing.T) {
	for _, tt := range []struct {
		held, read int
		want       bool
	}{
		{0, 64 << 10, false},
		{pileMost - 1, 64 << 10, false},
		{pileMost, 64 << 10, true},
		{pileMost, pileFrom, true},
		{8 << 20, pileFrom - 1, false},
		{8 << 20, 100, false},
	} {
		var b body
		if tt.held > 0 {
			b.inbox.push(grpcwire.Message{Data: grpcwire.BytesOf(nil), Held: uint32(tt.held)})
		}
		if got := b.piles(tt.read); got != tt.want {
			t.Errorf("%d bytes read, %d wait: %v", tt.read, tt.held, got)
		}
	}
}

// wakeCount counts how often it is woken.
type wakeCount int

func (w *wakeCount) Wake() { *w++ }

// TestWindowOfWhoWantsNoInput: who waits for the end of a stream alone, as the owner of one that is handed
// over does while it takes no input, gets no window for messages that are larger than what there is, and is
// not woken by them. A peer could have any number of such messages held otherwise.
func TestWindowOfWhoWantsNoInput(t *testing.T) {
	large := []byte{0, 0, 1, 0, 0} // the prefix of 64 KiB
	for _, tt := range []struct {
		reason wakeReason
		expect int
		woken  wakeCount
	}{
		{wakeNone, 0, 0},
		{wakeMessage, 64 << 10, 0},
		{wakeEnd, 64 << 10, 0},
		{wakeOver, 0, 0},
	} {
		var b body
		var w wakeCount
		pool := mem.DefaultBufferPool()
		b.asm.Init(&pool, 1<<20)
		b.wake.call(&w, tt.reason)
		expect, err := b.take(piece{p: large, n: len(large)}, nil)
		if expect != tt.expect || err != nil || w != tt.woken {
			t.Errorf("reason %d: a window of %d bytes, %v, and woken %d times; want %d and %d times", tt.reason, expect, err, w, tt.expect, tt.woken)
		}
		b.wake.signal(wakeMessage, 2)
		if want := tt.reason == wakeMessage || tt.reason == wakeEnd; (w == 1) != want {
			t.Errorf("reason %d: woken %d times by a second message", tt.reason, w)
		}
		b.wake.signal(wakeEnd, 0)
		if want := tt.reason != wakeNone; (w == 1) != want {
			t.Errorf("reason %d: woken %d times by the end", tt.reason, w)
		}
		b.close()
	}
}

// The windows count a frame when its header arrives. What is still to come of it is not asked for again.
func TestWindowWithinFrame(t *testing.T) {
	const size, frame = 64 << 10, 16 << 10
	var b body
	var w wakeCount
	pool := mem.DefaultBufferPool()
	b.asm.Init(&pool, 1<<20)
	b.wake.call(&w, wakeMessage)
	want := func(what string, lacks, coming int) {
		t.Helper()
		if got, want := b.wanted(), lacks-coming; got != want {
			t.Errorf("%s: a window of %d bytes, want %d", what, got, want)
		}
	}
	p := append([]byte{0, 0, 1, 0, 0}, make([]byte, 95)...)
	if _, err := b.take(piece{p: p, n: len(p), ahead: size, rest: frame - len(p)}, nil); err != nil {
		t.Fatal(err)
	}
	want("a piece of a frame", size-95, frame-100)
	n := len(b.space(frame-100, size))
	want("memory for the rest", size-95, frame-100)
	if _, err := b.take(piece{n: n - 1}, nil); err != nil {
		t.Fatal(err)
	}
	want("some of the rest", size-95-n+1, frame-100-n+1)
	for left := frame - 100 - n + 1; left > 0; left -= n {
		n = len(b.space(left, size))
		if _, err := b.take(piece{n: n}, nil); err != nil {
			t.Fatal(err)
		}
	}
	want("the whole frame", size+5-frame, 0)
	b.space(frame, size)
	want("the next frame", size+5-frame, frame)
	b.filling = false
	b.close()
}
