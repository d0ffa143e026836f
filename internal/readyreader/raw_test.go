// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

type readResult struct {
	data string
	err  error
}

// startRead reads once in a goroutine, and copies what it got.
func startRead(r Layer, pool *testPool) <-chan readResult {
	c := make(chan readResult, 1)
	go func() {
		buf, n, err := r.ReadOnReady(512, pool)
		res := readResult{err: err}
		if err == nil {
			res.data = string((*buf)[:n])
			pool.Put(buf)
		}
		c <- res
	}()
	return c
}

func rawReaderFor(t testing.TB, conn net.Conn) Layer {
	t.Helper()
	s := NewSocket(conn)
	if !s.Can().Has(ReadsReady) {
		t.Fatalf("%T is not read when ready", conn)
	}
	return s.Layer
}

// TestWaitEnds: whatever ends a wait, the reader hears the right thing of it
// and the pool has every buffer again.
func TestWaitEnds(t *testing.T) {
	needsDescriptor(t)
	tests := []struct {
		name string
		do   func(t *testing.T, self, peer net.Conn)
		data string
		err  error
	}{
		{name: "data", do: func(t *testing.T, _, peer net.Conn) { mustWrite(t, peer, "hello") }, data: "hello"},
		{name: "FIN", do: func(_ *testing.T, _, peer net.Conn) { peer.Close() }, err: io.EOF},
		{name: "half close", do: func(t *testing.T, _, peer net.Conn) { closeWrite(t, peer) }, err: io.EOF},
		{name: "Close", do: func(_ *testing.T, self, _ net.Conn) { self.Close() }, err: net.ErrClosed},
		{name: "deadline moved to the past", do: func(_ *testing.T, self, _ net.Conn) {
			self.SetReadDeadline(time.Unix(1, 0))
		}, err: os.ErrDeadlineExceeded},
		{name: "deadline moved close", do: func(_ *testing.T, self, _ net.Conn) {
			self.SetReadDeadline(time.Now().Add(time.Millisecond))
		}, err: os.ErrDeadlineExceeded},
	}
	forEachNetwork(t, func(t *testing.T, network string) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				self, peer := connPair(t, network)
				pool := newTestPool(t)
				c := startRead(rawReaderFor(t, self), pool)
				pool.awaitPut()
				if n, _ := pool.held(); n != 0 {
					t.Errorf("%d buffers held during the wait", n)
				}
				tt.do(t, self, peer)
				got := <-c
				if got.data != tt.data || !errors.Is(got.err, tt.err) {
					t.Errorf("got %q, %v; want %q, %v", got.data, got.err, tt.data, tt.err)
				}
				wantOpError(t, got.err, "read")
			})
		}
	})
}

// wantOpError checks an error other than io.EOF for net.Conn's form.
func wantOpError(t *testing.T, err error, op string) {
	t.Helper()
	if err == nil || err == io.EOF {
		return
	}
	var oe *net.OpError
	if !errors.As(err, &oe) || oe.Op != op {
		t.Errorf("error %#v is not a net.OpError of op %q", err, op)
	}
}

func TestReset(t *testing.T) {
	needsDescriptor(t)
	self, peer := connPair(t, "tcp")
	pool := newTestPool(t)
	c := startRead(rawReaderFor(t, self), pool)
	pool.awaitPut()
	peer.(*net.TCPConn).SetLinger(0)
	peer.Close()
	got := <-c
	if !errors.Is(got.err, errReset) {
		t.Errorf("got %v, want connection reset", got.err)
	}
	wantOpError(t, got.err, "read")
	var ne net.Error
	if !errors.As(got.err, &ne) || ne.Timeout() {
		t.Errorf("a reset must be a net.Error and no timeout: %v", got.err)
	}
}

// Who only waits for input leaves the error to the read that follows.
func TestAwaitInputKeepsError(t *testing.T) {
	needsDescriptor(t)
	self, peer := connPair(t, "tcp")
	peer.(*net.TCPConn).SetLinger(0)
	peer.Close()
	rc := rawConnOf(self)
	for range 2 {
		if err := AwaitInput(rc); err != nil {
			t.Fatal(err)
		}
		if !HasInput(rc) {
			t.Error("no input after a reset")
		}
	}
	if _, err := self.Read(make([]byte, 1)); err == nil || looksKeepErrors && !errors.Is(err, errReset) {
		t.Errorf("read %v, want connection reset", err)
	}
}

// A wait ended by a deadline can be taken up again, and loses nothing.
func TestDeadlineThenData(t *testing.T) {
	needsDescriptor(t)
	forEachNetwork(t, func(t *testing.T, network string) {
		self, peer := connPair(t, network)
		pool := newTestPool(t)
		r := rawReaderFor(t, self)
		self.SetReadDeadline(time.Unix(1, 0))
		if deadlinesEndAttempts {
			mustWrite(t, peer, "kept")
		}
		for range 2 {
			if got := <-startRead(r, pool); !errors.Is(got.err, os.ErrDeadlineExceeded) {
				t.Fatalf("before the wait: %v", got.err)
			}
		}
		if !deadlinesEndAttempts {
			mustWrite(t, peer, "kept")
		}
		self.SetReadDeadline(time.Time{})
		if got := <-startRead(r, pool); got.data != "kept" || got.err != nil {
			t.Fatalf("after: %q, %v", got.data, got.err)
		}
	})
}

// A peer that half-closed can still be written to.
func TestHalfCloseKeepsWriting(t *testing.T) {
	needsDescriptor(t)
	forEachNetwork(t, func(t *testing.T, network string) {
		self, peer := connPair(t, network)
		pool := newTestPool(t)
		closeWrite(t, peer)
		if got := <-startRead(rawReaderFor(t, self), pool); got.err != io.EOF {
			t.Fatalf("got %v, want EOF", got.err)
		}
		w := NewSocket(self)
		if n, err := w.TryWrite([]byte("late")); n != 4 || err != nil {
			t.Fatalf("TryWrite: %d, %v", n, err)
		}
		p := make([]byte, 4)
		if _, err := io.ReadFull(peer, p); err != nil || string(p) != "late" {
			t.Fatalf("peer got %q, %v", p, err)
		}
	})
}

// Data and FIN are both there before the first read: data first, then the end,
// and the end again.
func TestDataAndFINTogether(t *testing.T) {
	needsDescriptor(t)
	forEachNetwork(t, func(t *testing.T, network string) {
		self, peer := connPair(t, network)
		pool := newTestPool(t)
		r := rawReaderFor(t, self)
		mustWrite(t, peer, "last words")
		peer.Close()
		if got := <-startRead(r, pool); got.data != "last words" {
			t.Fatalf("got %q, %v", got.data, got.err)
		}
		for range 2 {
			if got := <-startRead(r, pool); got.err != io.EOF {
				t.Fatalf("got %v, want EOF", got.err)
			}
		}
	})
}

func TestTryRead(t *testing.T) {
	needsDescriptor(t)
	forEachNetwork(t, func(t *testing.T, network string) {
		self, peer := connPair(t, network)
		pool := newTestPool(t)
		r := rawReaderFor(t, self)
		if buf, n, err := r.TryRead(64, pool); buf != nil || n != 0 || err != ErrWouldBlock {
			t.Fatalf("empty: %v, %d, %v", buf, n, err)
		}
		if n, err := r.TryReadInto(make([]byte, 8)); n != 0 || err != ErrWouldBlock {
			t.Fatalf("empty, in place: %d, %v", n, err)
		}
		if n, err := r.TryReadInto(nil); n != 0 || err != nil {
			t.Fatalf("no room: %d, %v", n, err)
		}
		mustWrite(t, peer, "abcdef")
		awaitInput(t, r.RawConn())
		buf, n, err := r.TryRead(4, pool) // a short read doesn't prove the socket drained
		if err != nil || string((*buf)[:n]) != "abcd" {
			t.Fatalf("TryRead: %d, %v", n, err)
		}
		pool.Put(buf)
		p := make([]byte, 8)
		if n, err := r.TryReadInto(p); err != nil || string(p[:n]) != "ef" {
			t.Fatalf("TryReadInto: %q, %v", p[:n], err)
		}
		self.Close()
		_, _, err = r.TryRead(4, pool)
		if !errors.Is(err, net.ErrClosed) {
			t.Fatalf("closed: %v", err)
		}
		wantOpError(t, err, "read")
	})
}

// awaitInput waits until the socket is readable without reading from it.
func awaitInput(t testing.TB, rc syscall.RawConn) {
	t.Helper()
	err := rc.Read(func(fd uintptr) bool { return peekable(int(fd)) })
	if err != nil {
		t.Fatal(err)
	}
}

// oddPool lends buffers whose length is not what was asked for.
type oddPool struct{ n, out int }

func (p *oddPool) Get(int) *[]byte { p.out++; b := make([]byte, p.n); return &b }
func (p *oddPool) Put(*[]byte)     { p.out-- }

// A buffer without room must not look like the end of the stream, and a longer
// one is not filled beyond what was asked for.
func TestOddPool(t *testing.T) {
	needsDescriptor(t)
	self, peer := connPair(t, "tcp")
	r := rawReaderFor(t, self)
	mustWrite(t, peer, "abcdef")
	awaitInput(t, r.RawConn())
	empty := &oddPool{}
	for _, read := range []readFunc{r.ReadOnReady, r.TryRead} {
		if _, _, err := read(8, empty); !errors.Is(err, io.ErrShortBuffer) || empty.out != 0 {
			t.Errorf("no room: %v, %d buffers out", err, empty.out)
		}
	}
	long := &oddPool{n: 100}
	for _, want := range []string{"ab", "cd"} {
		buf, n, err := r.ReadOnReady(2, long)
		if err != nil || string((*buf)[:n]) != want {
			t.Errorf("long buffer: %d, %v, want %q", n, err, want)
		}
	}
}

func TestTryWrite(t *testing.T) {
	needsDescriptor(t)
	forEachNetwork(t, func(t *testing.T, network string) {
		self, peer := connPair(t, network)
		w := NewSocket(self)
		if !w.Can().Has(TriesWrites) {
			t.Fatal("it has to be waited for")
		}
		if n, err := w.TryWrite(nil); n != 0 || err != nil {
			t.Fatalf("empty: %d, %v", n, err)
		}
		chunk := bytes.Repeat([]byte("0123456789abcdef"), 4096)
		sent, full := 0, false
		for !full {
			n, err := w.TryWrite(chunk)
			sent += n
			switch {
			case err == ErrWouldBlock && n < len(chunk):
				full = n == 0
			case err != nil || n != len(chunk):
				t.Fatalf("TryWrite: %d, %v", n, err)
			}
		}
		done := make(chan int64)
		go func() {
			n, _ := io.Copy(io.Discard, peer)
			done <- n
		}()
		// The blocking method goes on where the attempt stopped.
		n, err := w.Write(chunk)
		if n != len(chunk) || err != nil {
			t.Fatalf("Write: %d, %v", n, err)
		}
		closeWrite(t, self)
		if got := <-done; got != int64(sent+n) {
			t.Errorf("peer got %d bytes, sent %d", got, sent+n)
		}
		_, err = w.TryWrite(chunk)
		if !errors.Is(err, errShutDown) {
			t.Errorf("after CloseWrite: %v", err)
		}
		wantOpError(t, err, "write")
		self.Close()
		if _, err = w.TryWrite(chunk); !errors.Is(err, net.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		wantOpError(t, err, "write")
	})
}

func TestTryWriteDeadline(t *testing.T) {
	needsDescriptor(t)
	if !deadlinesEndAttempts {
		t.Skip("here a deadline ends waits alone")
	}
	self, _ := connPair(t, "tcp")
	w := NewSocket(self)
	self.SetWriteDeadline(time.Unix(1, 0))
	if _, err := w.TryWrite([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("past deadline: %v", err)
	}
	self.SetWriteDeadline(time.Time{})
	if n, err := w.TryWrite([]byte("x")); n != 1 || err != nil {
		t.Errorf("cleared: %d, %v", n, err)
	}
}

// Two goroutines that share a variable and order their accesses through the
// socket alone, as a program may: the race detector has to see the order, both
// ways, whichever side uses this package.
func TestSocketOrdersMemory(t *testing.T) {
	needsDescriptor(t)
	forEachNetwork(t, func(t *testing.T, network string) {
		self, peer := connPair(t, network)
		pool := newTestPool(t)
		r := rawReaderFor(t, self)
		w := NewSocket(self)
		var shared int
		done := make(chan struct{})
		go func() {
			defer close(done)
			p := make([]byte, 1)
			for range 50 {
				shared++
				peer.Write(p)
				peer.Read(p)
			}
		}()
		for range 50 {
			buf, _, err := r.ReadOnReady(16, pool)
			if err != nil {
				t.Fatal(err)
			}
			shared++
			pool.Put(buf)
			if _, err := w.TryWrite([]byte{1}); err != nil {
				t.Fatal(err)
			}
		}
		<-done
		if shared != 100 {
			t.Errorf("shared = %d", shared)
		}
	})
}

func TestWouldBlockIsTemporary(t *testing.T) {
	var ne net.Error
	if !errors.As(ErrWouldBlock, &ne) || ne.Timeout() {
		t.Fatal("ErrWouldBlock must be a net.Error and no timeout")
	}
	if tmp, ok := ne.(interface{ Temporary() bool }); !ok || !tmp.Temporary() {
		t.Fatal("ErrWouldBlock must be temporary")
	}
}
