// SPDX-License-Identifier: Apache-2.0

package altsconn

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/mem"
)

// TryWrite never waits, and what it took arrives, in order, whichever way the rest
// is sent.
func TestTryWrite(t *testing.T) {
	needsTry(t)
	for _, network := range []string{"tcp", "unix"} {
		a, b := rawPair(t, network)
		if tcp, ok := a.(*net.TCPConn); ok {
			tcp.SetWriteBuffer(32 << 10)
		}
		pool := newPool(t)
		c := wrap(t, a, Config{MaxRecord: 64 << 10, Pool: pool})
		w := c.(readyreader.Layer)
		msg := random(4 << 20)
		received := make(chan []byte)
		start := make(chan struct{})
		peer := wrap(t, b, Config{Side: Server, Pool: pool})
		go func() {
			<-start
			p := make([]byte, len(msg))
			io.ReadFull(peer, p)
			received <- p
		}()
		sent, blocked := 0, 0
		for i := 0; sent < len(msg); i++ {
			p := msg[sent:min(sent+300_000, len(msg))]
			var n int
			var err error
			if cut := i * 5000 % 400_000; i%2 == 1 && cut <= len(p) {
				n, err = c.(*Socket).TryWriteVector([][]byte{p[:cut], p[cut:]})
			} else {
				n, err = w.TryWrite(p)
			}
			sent += n
			if err == nil {
				if n != len(p) {
					t.Fatalf("%s: %d of %d bytes without an error", network, n, len(p))
				}
				continue
			}
			if err != readyreader.ErrWouldBlock {
				t.Fatalf("%s: %v", network, err)
			}
			if blocked++; blocked == 1 {
				close(start)
			}
			if blocked%2 == 0 { // the flusher's way
				mustWrite(t, w, nil)
			}
		}
		if blocked == 0 {
			t.Fatalf("%s: 4 MiB found room in the socket", network)
		}
		mustWrite(t, w, nil)
		got := <-received
		for i := range msg {
			if got[i] != msg[i] {
				t.Fatalf("%s: differs from byte %d on", network, i)
			}
		}
		if s := pool.Stats(); s.Buffers != 0 {
			t.Errorf("%s: %d buffers are held when all is written", network, s.Buffers)
		}
	}
}

// A list of pieces is one write: all records are there when the first is.
func TestTryWriteVector(t *testing.T) {
	needsTry(t)
	for _, tt := range []struct{ limit, p, q int }{
		{0, 9, 1000}, {1 << 20, 9, 100_000}, {0, 9, 100_000}, {0, 0, 10}, {0, 10, 0}, {0, 0, 0},
	} {
		counting := &countingWriter{}
		pool := newPool(t)
		c := wrap(t, counting, Config{MaxRecord: tt.limit, Pool: pool}).(*Socket)
		n, err := c.TryWriteVector([][]byte{make([]byte, tt.p), make([]byte, tt.q)})
		if n != tt.p+tt.q || err != nil {
			t.Errorf("%+v: %d, %v", tt, n, err)
		}
		if counting.writes != min(n, 1) {
			t.Errorf("%+v: %d writes", tt, counting.writes)
		}
		if s := pool.Stats(); s.Buffers != 0 {
			t.Errorf("%+v: %d buffers are held", tt, s.Buffers)
		}
	}
}

type countingWriter struct {
	feed
	writes int
}

func (c *countingWriter) TryWrite(p []byte) (int, error) {
	c.writes++
	return len(p), nil
}

// A write deadline leaves the stream whole: the next write goes on.
func TestWriteDeadline(t *testing.T) {
	for _, network := range networks {
		a, b := rawPair(t, network)
		c := wrap(t, a, Config{Pool: newPool(t)})
		peer := wrap(t, b, Config{Side: Server})
		msg := random(16 << 20)
		c.SetWriteDeadline(time.Now().Add(time.Millisecond))
		n, err := c.Write(msg)
		if !errors.Is(err, os.ErrDeadlineExceeded) || n == len(msg) {
			t.Fatalf("%s: %d, %v", network, n, err)
		}
		c.SetWriteDeadline(time.Time{})
		done := make(chan error, 1)
		go func() {
			_, err := c.Write(msg[n:])
			done <- err
		}()
		wantRead(t, peer, msg)
		if err := <-done; err != nil {
			t.Errorf("%s: %v", network, err)
		}
	}
}

// When the numbers run out the connection ends, on both sides with that error.
func TestExhaustedConnection(t *testing.T) {
	a, b := pair(t, "tcp", Config{Protocol: AES128GCM, Pool: newPool(t)})
	w, r := a.(*Socket), b.(*Socket)
	w.out.keys.next, r.in.keys.next = 1<<40-1, 1<<40-1
	mustWrite(t, a, []byte("last"))
	wantRead(t, b, []byte("last"))
	for range 2 {
		if _, err := a.Write([]byte("x")); !errors.Is(err, ErrCounterExhausted) {
			t.Errorf("write: %v", err)
		}
	}
	if _, err := b.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the peer reads %v", err)
	}

	a, b = rawPair(t, "tcp")
	c := wrap(t, a, Config{})
	c.(*Socket).in.keys.next, c.(*Socket).in.keys.spent = 0, true
	mustWrite(t, b, newSealer(t, Server).record([]byte("more")))
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, ErrCounterExhausted) {
		t.Errorf("read: %v", err)
	}
}

// Part of a record can't be taken back: after a failed write nothing more is sent.
func TestWriteErrorSticks(t *testing.T) {
	a, b := rawPair(t, "tcp")
	c := wrap(t, a, Config{Pool: newPool(t)})
	b.Close()
	var first error
	for first == nil {
		_, first = c.Write(make([]byte, 1000))
	}
	if _, err := c.Write(nil); err != first {
		t.Errorf("then: %v, want %v", err, first)
	}
}

// exits is a wrapper whose Write ends the goroutine.
type exits struct{ net.Conn }

func (exits) Write([]byte) (int, error) { runtime.Goexit(); return 0, nil }

// The same if the wrapper's Write has ended the goroutine. The buffer is back.
func TestWriteEndsGoroutine(t *testing.T) {
	a, _ := rawPair(t, "tcp")
	c := wrap(t, exits{a}, Config{Pool: newPool(t)})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = c.Write(make([]byte, 1000))
		t.Error("Write has returned")
	}()
	<-done
	if n, err := c.Write([]byte("x")); n != 0 || err != errWriterLeft {
		t.Error(n, err)
	}
}

// holding is a layer that takes all that it is given and holds it back, with an error,
// until the next write.
type holding struct {
	readyreader.BaseLayer
	net.Conn
	err  error
	held []byte
}

func (h *holding) TryWrite(p []byte) (int, error) {
	switch {
	case h.err != nil && len(p) > 0:
		h.held = append([]byte(nil), p...)
		return len(p), h.err
	case h.held != nil:
		p, h.held = append(h.held, p...), nil
		_, err := h.Conn.Write(p)
		return len(p), err
	}
	return h.Conn.Write(p)
}

func (h *holding) Write(p []byte) (int, error) { return h.TryWrite(p) }

// Input is not asked for; these make it look as if it could be.
func (h *holding) ReadOnReady(int, mem.BufferPool) (*[]byte, int, error) { panic("read") }
func (h *holding) TryRead(int, mem.BufferPool) (*[]byte, int, error)     { panic("read") }
func (h *holding) Read([]byte) (int, error)                              { panic("read") }
func (h *holding) Can() readyreader.Ability {
	return readyreader.ReadsReady | readyreader.TriesReads | readyreader.TriesWrites
}

// What a layer below holds back is sent by the next write, be it of nothing, even
// though no byte of this layer is left.
func TestLayerHoldsBack(t *testing.T) {
	for name, err := range map[string]error{"would block": readyreader.ErrWouldBlock, "timeout": os.ErrDeadlineExceeded} {
		for _, try := range []bool{false, true} {
			a, b := rawPair(t, "tcp")
			h := &holding{Conn: a, err: err}
			cfg := Config{Protocol: AES128GCMRekey, Key: key(AES128GCMRekey), Pool: newPool(t)}
			c, nerr := newOver(readyreader.NewSocket(h), cfg, try)
			if nerr != nil {
				t.Fatal(nerr)
			}
			t.Cleanup(func() { c.Close() })
			peer := wrap(t, b, Config{Side: Server})
			write := c.Write
			if try {
				write = c.(readyreader.Layer).TryWrite
			}
			msg := random(1000)
			if n, got := write(msg); n != len(msg) || !errors.Is(got, err) {
				t.Errorf("%s: %d, %v", name, n, got)
			}
			h.err = nil
			if n, err := write(nil); n != 0 || err != nil || h.held != nil {
				t.Errorf("%s: then %d, %v, and %d bytes are still held back", name, n, err, len(h.held))
				continue
			}
			wantRead(t, peer, msg)
		}
	}
}
