// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/mem"
)

// script is a connection that plays back chunks, and checks at every wait what
// the reader above it holds. An empty chunk is a moment without input: a wait
// passes over it, a try reports it.
type script struct {
	BaseLayer
	t       testing.TB
	pool    *testPool
	chunks  []string
	end     error // after the chunks; nil: io.EOF
	atWait  func()
	waits   int
	direct  int   // reads straight to the caller's memory
	noPlace bool  // no TryReadInto
	sizes   []int // that were asked for
}

func (s *script) next(p []byte, wait bool) (int, error) {
	for wait && len(s.chunks) > 0 && s.chunks[0] == "" {
		s.chunks = s.chunks[1:]
	}
	if len(s.chunks) == 0 {
		if s.end != nil {
			return 0, s.end
		}
		return 0, io.EOF
	}
	if s.chunks[0] == "" {
		s.chunks = s.chunks[1:]
		return 0, ErrWouldBlock
	}
	n := copy(p, s.chunks[0])
	if s.chunks[0] = s.chunks[0][n:]; s.chunks[0] == "" {
		s.chunks = s.chunks[1:]
	}
	return n, nil
}

func (s *script) lend(size int, pool mem.BufferPool, wait bool) (*[]byte, int, error) {
	s.sizes = append(s.sizes, size)
	buf := pool.Get(size)
	n, err := s.next(*buf, wait)
	if err != nil {
		pool.Put(buf)
		return nil, 0, err
	}
	return buf, n, nil
}

func (s *script) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	s.waits++
	if s.atWait != nil {
		s.atWait()
	}
	return s.lend(size, pool, true)
}

func (s *script) TryRead(size int, pool mem.BufferPool) (*[]byte, int, error) {
	return s.lend(size, pool, false)
}

func (s *script) TryReadInto(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if s.noPlace {
		return 0, ErrWouldBlock
	}
	return s.next(p, false)
}

func (s *script) Can() Ability { return ReadsReady | TriesReads }

func (s *script) Write([]byte) (int, error) { panic("write") }

func (s *script) Read(p []byte) (int, error) {
	s.direct++
	return s.next(p, true)
}

func newScript(t testing.TB, chunks ...string) *script {
	return &script{t: t, pool: newTestPool(t), chunks: chunks}
}

func (s *script) buffered(size int) Buffered {
	return newPooled(s, s.pool, sizes{size: size}, nil)
}

func wantPeek(t *testing.T, b Buffered, want string) {
	t.Helper()
	p, err := b.Peek(len(want))
	if err != nil || string(p) != want {
		t.Fatalf("Peek(%d) = %q, %v; want %q", len(want), p, err, want)
	}
}

func wantDiscard(t *testing.T, b Buffered, n int) {
	t.Helper()
	if got, err := b.Discard(n); got != n || err != nil {
		t.Fatalf("Discard(%d) = %d, %v", n, got, err)
	}
}

// The first read may have a size of its own, which is no bound for what is peeked at.
func TestFirstRead(t *testing.T) {
	s := newScript(t, "0123456789", "abcdefghijklmnop")
	b := newPooled(s, s.pool, sizes{size: 128, first: 4}, nil)
	wantPeek(t, b, "0123")
	wantDiscard(t, b, 2)
	wantPeek(t, b, "23456789")
	wantDiscard(t, b, 8)
	wantPeek(t, b, "abcdefghijklmnop")
	wantDiscard(t, b, 16)
	if want := []int{4, 128 - 2, 128}; !slices.Equal(s.sizes, want) {
		t.Errorf("reads of %v, want %v", s.sizes, want)
	}
}

// A tail of up to 64 bytes holds no pooled buffer during the wait, a longer one
// a buffer of its own length.
func TestWaitHoldsNoMoreThanArrived(t *testing.T) {
	for _, tail := range []int{0, 1, 8, 64, 65, 300, 4000} {
		s := newScript(t, string(bytes.Repeat([]byte{'h'}, tail)), "", "rest of it")
		if tail == 0 {
			s.chunks = s.chunks[1:]
		}
		s.atWait = func() {
			limit := tail
			if tail <= smallTail {
				limit = 0
			}
			if _, held := s.pool.held(); s.waits > 1 && held > limit {
				t.Errorf("tail %d: %d pooled bytes held at a wait", tail, held)
			}
		}
		b := s.buffered(32 << 10)
		p, err := b.Peek(tail + 10)
		if err != nil || string(p[tail:]) != "rest of it" {
			t.Fatalf("tail %d: %q, %v", tail, p, err)
		}
		wantDiscard(t, b, tail+10)
		if n, _ := s.pool.held(); n != 0 {
			t.Errorf("tail %d: %d buffers held when drained", tail, n)
		}
	}
}

// One byte at a time, frame by frame: nothing is held at any of the waits.
func TestTrickle(t *testing.T) {
	const frame = "123456789"
	var chunks []string
	for range 20 {
		for _, c := range frame {
			chunks = append(chunks, "", string(c))
		}
	}
	s := newScript(t, chunks...)
	s.atWait = func() {
		if n, _ := s.pool.held(); n != 0 {
			t.Errorf("%d buffers held at a wait", n)
		}
	}
	b := s.buffered(4096)
	for range 20 {
		wantPeek(t, b, frame)
		wantDiscard(t, b, len(frame))
	}
	if _, err := b.Peek(1); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

// What is there already is appended in place: no wait, no second buffer.
func TestSplitFrameWithoutWait(t *testing.T) {
	s := newScript(t, "abc", "defgh", "ij")
	b := s.buffered(256)
	wantPeek(t, b, "abcdefghij")
	if s.waits != 1 {
		t.Errorf("%d waits, want 1", s.waits)
	}
	if n, held := s.pool.held(); n != 1 || held != 256 {
		t.Errorf("%d buffers of %d bytes held", n, held)
	}
	b.Release()
}

func TestPeekErrors(t *testing.T) {
	for _, pooled := range []bool{true, false} {
		s := newScript(t, "abc")
		var b Buffered = newFixed(s, 256)
		if pooled {
			b = s.buffered(256)
		}
		if _, err := b.Peek(257); err != errTooLarge {
			t.Errorf("too large: %v", err)
		}
		if _, err := b.Peek(-1); err == nil {
			t.Error("negative peek: no error")
		}
		if _, err := b.Discard(-1); err == nil {
			t.Error("negative discard: no error")
		}
		if p, err := b.Peek(0); len(p) != 0 || err != nil {
			t.Errorf("peek of nothing: %q, %v", p, err)
		}
		if n, err := b.Read(nil); n != 0 || err != nil {
			t.Errorf("read of nothing: %d, %v", n, err)
		}
		for range 2 { // an error loses nothing and doesn't stick
			if _, err := b.Peek(4); err != io.ErrUnexpectedEOF {
				t.Errorf("within a frame: %v", err)
			}
			if b.Buffered() != 3 {
				t.Errorf("%d bytes buffered", b.Buffered())
			}
		}
		wantPeek(t, b, "abc")
		if n, err := b.Discard(5); n != 3 || err != io.EOF {
			t.Errorf("Discard past the end = %d, %v", n, err)
		}
		if _, err := b.Peek(1); err != io.EOF {
			t.Errorf("between frames: %v", err)
		}
		b.Release()
	}
}

// A read of the buffer's size or more goes to the caller's memory; but first
// comes what is buffered.
func TestLargeReadBypassesBuffer(t *testing.T) {
	big := string(bytes.Repeat([]byte("x"), 300))
	s := newScript(t, "head", big)
	b := s.buffered(256)
	wantPeek(t, b, "he")
	wantDiscard(t, b, 2)
	p := make([]byte, 300)
	n, err := io.ReadFull(b, p[:2])
	if err != nil || string(p[:n]) != "ad" {
		t.Fatalf("%q, %v", p[:n], err)
	}
	if n, _ := s.pool.held(); n != 0 {
		t.Errorf("%d buffers held when drained by Read", n)
	}
	if _, err := io.ReadFull(b, p); err != nil || string(p) != big {
		t.Fatalf("large read: %v", err)
	}
	if s.direct != 1 || s.waits != 1 {
		t.Errorf("%d direct reads, %d buffered", s.direct, s.waits)
	}
}

func TestTryPeek(t *testing.T) {
	for _, noPlace := range []bool{false, true} {
		s := newScript(t, "", "abc", "", "", "", "", "", "defghi")
		s.noPlace = noPlace
		b := s.buffered(256)
		blocked := 0
		for {
			p, err := b.TryPeek(9)
			if err == nil {
				if string(p) != "abcdefghi" {
					t.Fatalf("got %q", p)
				}
				break
			}
			if err != ErrWouldBlock {
				t.Fatal(err)
			}
			blocked++
			if n, _ := s.pool.held(); n != 0 {
				t.Fatalf("%d buffers held with %d bytes in hand", n, b.Buffered())
			}
		}
		if blocked < 2 || s.waits != 0 {
			t.Errorf("%d times without input, %d waits", blocked, s.waits)
		}
		b.Release()
		if _, err := b.TryPeek(1); err != io.EOF {
			t.Errorf("at the end: %v", err)
		}
	}
}

// greedy breaks Reader's contract in every way that costs a buffer.
type greedy struct {
	net.Conn
	n   int
	err error
}

func (g greedy) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	return pool.Get(size), g.n, g.err
}

// Bytes that come together with an error come first, and then the error.
func TestBytesWithError(t *testing.T) {
	pool := newTestPool(t)
	b := New(NewSocket(greedy{n: 3, err: io.ErrClosedPipe}), Options{Pool: pool, Size: 256, Pooled: true})
	if p, err := b.Peek(2); len(p) != 2 || err != nil {
		t.Error(p, err)
	}
	if _, err := b.Peek(4); err != io.ErrClosedPipe || b.Buffered() != 3 {
		t.Error(b.Buffered(), err)
	}
	if n, err := b.Read(make([]byte, 1000)); n != 3 || err != nil {
		t.Error(n, err)
	}
	if _, err := b.Read(make([]byte, 1000)); err != io.ErrClosedPipe {
		t.Error(err)
	}
}

// lastWords is a connection whose last bytes come together with its error.
type lastWords struct {
	net.Conn
	left []byte
	err  error
}

func (l *lastWords) Read(p []byte) (n int, err error) {
	if n = copy(p, l.left); n == len(l.left) {
		err = l.err
	}
	l.left = l.left[n:]
	return n, err
}

func (l *lastWords) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	buf := pool.Get(size)
	n, err := l.Read(window(buf, size))
	return buf, n, err
}

// The same however large the reads are, and whether there is a buffer between.
func TestLastBytesWithError(t *testing.T) {
	const all = 600
	for _, pooled := range []bool{true, false} {
		for _, size := range []int{1, 100, 256, 300, all, 5000} {
			c := &lastWords{left: make([]byte, all), err: io.ErrClosedPipe}
			pool := newTestPool(t)
			b := New(NewSocket(c), Options{Pool: pool, Size: 256, Pooled: pooled})
			got, p := 0, make([]byte, size)
			for {
				n, err := b.Read(p)
				if got += n; err == nil {
					continue
				}
				if n != 0 || got != all || err != io.ErrClosedPipe {
					t.Errorf("pooled %t, by %d: %d bytes, then %d and %v", pooled, size, got-n, n, err)
				}
				break
			}
			if held, _ := pool.held(); held != 0 {
				t.Errorf("pooled %t, by %d: %d buffers are held", pooled, size, held)
			}
		}
	}
}

func TestForeignReaderLeaksNothing(t *testing.T) {
	for _, g := range []greedy{{n: 0}, {n: -1}, {err: os.ErrDeadlineExceeded}} {
		pool := newTestPool(t)
		b := New(NewSocket(g), Options{Pool: pool, Size: 256, Pooled: true})
		if _, err := b.Peek(1); err == nil {
			t.Errorf("%+v: no error", g)
		}
		if n, _ := pool.held(); n != 0 {
			t.Errorf("%+v: %d buffers leaked", g, n)
		}
	}
}

// veil is what credentials do: it embeds the socket, and so has its SyscallConn,
// but what Read returns is not what the socket carries.
type veil struct{ *net.TCPConn }

func (v veil) Read(p []byte) (int, error) {
	n, err := v.TCPConn.Read(p)
	for i := range p[:n] {
		p[i] ^= 0x20
	}
	return n, err
}

func TestNewNeverReadsBelowAWrapper(t *testing.T) {
	self, peer := connPair(t, "tcp")
	wrapped := veil{self.(*net.TCPConn)}
	var _ syscall.Conn = wrapped
	for _, pooled := range []bool{false, true} {
		b := New(NewSocket(wrapped), Options{Pool: newTestPool(t), Size: 4096, Pooled: pooled})
		mustWrite(t, peer, "SECRET")
		wantPeek(t, b, "secret")
		b.Release()
	}
	if NewSocket(wrapped).Can().Has(ReadsReady) {
		t.Error("it is read below the wrapper")
	}
}

func TestNewSelects(t *testing.T) {
	tcp, _ := connPair(t, "tcp")
	unix, _ := connPair(t, "unix")
	pipe, _ := net.Pipe()
	defer pipe.Close()
	pool := newTestPool(t)
	for _, tt := range []struct {
		conn   net.Conn
		pooled bool
	}{{tcp, true}, {unix, true}, {pipe, false}, {(*net.TCPConn)(nil), false}, {greedy{}, true}} {
		for _, on := range []bool{true, false} {
			b := New(NewSocket(tt.conn), Options{Pool: pool, Size: 1, Pooled: on})
			_, isFixed := b.(*fixed)
			if isFixed == (tt.pooled && on) {
				t.Errorf("%T, pooled %v: got a %T", tt.conn, on, b)
			}
		}
	}
	if s := NewSocket(tcp); !s.Can().Has(TriesReads) || s.RawConn() == nil {
		t.Error("a plain socket can be asked without waiting")
	}
	needsDescriptor(t)
}

// Every way of reading, over real sockets, pooled and not.
func TestBufferedOverSockets(t *testing.T) {
	forEachNetwork(t, func(t *testing.T, network string) {
		for _, pooled := range []bool{true, false} {
			name := "fixed"
			if pooled {
				name = "pooled"
			}
			t.Run(name, func(t *testing.T) { testBuffered(t, network, pooled) })
		}
	})
}

func testBuffered(t *testing.T, network string, pooled bool) {
	self, peer := connPair(t, network)
	pool := newTestPool(t)
	b := New(NewSocket(self), Options{Pool: pool, Size: 1024, Pooled: pooled})
	defer b.Release()

	// A deadline ends the wait within a frame; the bytes stay, no buffer does.
	mustWrite(t, peer, "1234")
	wantPeek(t, b, "12")
	set := make(chan struct{})
	go func() {
		defer close(set)
		for held := 1; held > 0; held, _ = pool.held() {
			runtime.Gosched() // until it waits; a test that hangs here has failed
		}
		self.SetReadDeadline(time.Unix(1, 0))
	}()
	if _, err := b.Peek(9); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("deadline: %v", err)
	}
	<-set
	if n, _ := pool.held(); n != 0 {
		t.Errorf("%d buffers held after the deadline", n)
	}
	self.SetReadDeadline(time.Time{})
	mustWrite(t, peer, "56789")
	wantPeek(t, b, "123456789")
	wantDiscard(t, b, 9)

	// A payload larger than the buffer, written at once and by the byte.
	payload := bytes.Repeat([]byte("0123456789"), 1000)
	go func() {
		peer.Write(payload)
		for i := range 100 {
			peer.Write(payload[i : i+1])
		}
		peer.Close()
	}()
	got := make([]byte, len(payload)+100)
	if _, err := io.ReadFull(b, got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, append(payload, payload[:100]...)) {
		t.Fatal("payload differs")
	}
	if _, err := b.Peek(1); err != io.EOF {
		t.Fatalf("at the end: %v", err)
	}
}

// Close from another goroutine ends a wait with bytes in hand.
func TestCloseDuringWaitInFrame(t *testing.T) {
	needsDescriptor(t)
	forEachNetwork(t, func(t *testing.T, network string) {
		self, peer := connPair(t, network)
		pool := newTestPool(t)
		b := New(NewSocket(self), Options{Pool: pool, Size: 1024, Pooled: true})
		mustWrite(t, peer, "1234")
		wantPeek(t, b, "1234")
		err := make(chan error)
		go func() {
			_, e := b.Peek(9)
			err <- e
		}()
		pool.awaitPut()
		self.Close()
		if e := <-err; !errors.Is(e, net.ErrClosed) {
			t.Errorf("got %v", e)
		}
		if n, _ := pool.held(); n != 0 {
			t.Errorf("%d buffers held", n)
		}
	})
}

// A fixed buffer is small until a read has filled it, and grows to what is asked for.
func TestFixedGrows(t *testing.T) {
	r := bytes.NewReader(make([]byte, 100<<10))
	f := newFixed(r, 32<<10)
	if len(f.buf) != firstFixed {
		t.Fatalf("%d bytes at first", len(f.buf))
	}
	if p, err := f.Peek(10); len(p) != 10 || err != nil || len(f.buf) != firstFixed {
		t.Fatalf("%d bytes, %v, in a buffer of %d", len(p), err, len(f.buf))
	}
	f.Discard(f.Buffered())
	if f.Peek(1); len(f.buf) != 2*firstFixed {
		t.Errorf("%d bytes after a full read", len(f.buf))
	}
	if p, err := f.Peek(32 << 10); len(p) != 32<<10 || err != nil || len(f.buf) != 32<<10 {
		t.Errorf("%d bytes, %v, in a buffer of %d", len(p), err, len(f.buf))
	}
	if n, err := f.Discard(200 << 10); n != 100<<10-firstFixed || err != io.EOF {
		t.Errorf("dropped %d, %v", n, err)
	}
}

// What New returned is used again by another connection, and keeps nothing of the one before.
func TestRecycle(t *testing.T) {
	var before Buffered
	for range 3 {
		self, peer := connPair(t, "tcp")
		b := New(NewSocket(self), Options{Pool: newTestPool(t), Size: 1024, Pooled: true, Reuse: before})
		if before != nil && b != before {
			t.Error("it is another one")
		}
		mustWrite(t, peer, "12345")
		wantPeek(t, b, "123")
		before = Recycle(b)
		if p, ok := before.(*pooled); ok && *p != (pooled{}) {
			t.Errorf("it keeps %+v", *p)
		}
	}
}
