// SPDX-License-Identifier: Apache-2.0

//go:build unix || (windows && !race)

package readyreader

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/internal/wrappers"
	"google.golang.org/grpc/mem"
)

// wrap makes a Layer of a wrapper over a new socket, whose other end is peer.
func wrap(t testing.TB, f func(net.Conn) net.Conn) (w *wrapped, peer net.Conn) {
	t.Helper()
	self, peer := connPair(t, "tcp")
	s := NewSocket(f(self))
	w, ok := s.Layer.(*wrapped)
	if !ok {
		t.Fatalf("a %T", s.Layer)
	}
	return w, peer
}

// brittle fails for good once a read has failed. It counts the deadlines that it is told.
type brittle struct {
	net.Conn
	err  error
	told atomic.Int32
}

func newBrittle(c net.Conn) net.Conn { return &brittle{Conn: c} }

func (b *brittle) Read(p []byte) (n int, err error) {
	if b.err != nil {
		return 0, b.err
	}
	n, b.err = b.Conn.Read(p)
	return n, b.err
}

func (b *brittle) SetReadDeadline(t time.Time) error {
	b.told.Add(1)
	return b.Conn.SetReadDeadline(t)
}

// ways to read what there is, and more if there is nothing.
var ways = map[string]func(w *wrapped, size int, pool mem.BufferPool) ([]byte, error){
	"ReadOnReady": func(w *wrapped, size int, pool mem.BufferPool) ([]byte, error) {
		return lent(pool, func() (*[]byte, int, error) { return w.ReadOnReady(size, pool) })
	},
	"TryRead": func(w *wrapped, size int, pool mem.BufferPool) ([]byte, error) {
		w.WaitInRead(size%2 == 0, pool)
		return lent(pool, func() (*[]byte, int, error) { return w.TryRead(size, pool) })
	},
	"TryReadInto": func(w *wrapped, size int, pool mem.BufferPool) ([]byte, error) {
		w.WaitInRead(size%2 == 0, pool)
		p := make([]byte, size)
		n, err := w.TryReadInto(p)
		return p[:n], err
	},
	"Read": func(w *wrapped, size int, _ mem.BufferPool) ([]byte, error) {
		p := make([]byte, size)
		n, err := w.Read(p)
		return p[:n], err
	},
	"to what is held": func(w *wrapped, size int, pool mem.BufferPool) ([]byte, error) {
		w.WaitInRead(size%2 == 0, pool)
		in := PartialInput{Pool: pool}
		defer in.Drop()
		loan := in.Borrow(0)
		_, n, err := w.ReadOnReady(size, loan)
		loan.Done(n)
		return bytes.Clone(in.Bytes()), err
	},
}

// lent is what read returns in a buffer, which it gives back.
func lent(pool mem.BufferPool, read func() (*[]byte, int, error)) ([]byte, error) {
	buf, n, err := read()
	if err != nil {
		return nil, err
	}
	defer pool.Put(buf)
	return bytes.Clone((*buf)[:n]), nil
}

// Whatever way is taken after whatever way, and whether somebody has waited before or not, all bytes
// arrive in order, buffers go back, and nothing is there when nothing is.
func TestWrapped(t *testing.T) {
	w, peer := wrap(t, newBrittle)
	pool := newTestPool(t)
	want := []byte(strings.Repeat("0123456789abcdef", 4000))
	sent := make(chan error, 1)
	go func() {
		for p := want; len(p) > 0; {
			n := min(rand.IntN(2000)+1, len(p))
			if _, err := peer.Write(p[:n]); err != nil {
				sent <- err
				return
			}
			p = p[n:]
		}
		sent <- nil
	}()
	var got []byte
	for len(got) < len(want) {
		for name, read := range ways {
			if len(got) == len(want) {
				break
			}
			p, err := read(w, 1+rand.IntN(700), pool)
			if err != nil || len(p) == 0 {
				t.Fatalf("%s after %d: %q, %v", name, len(got), p, err)
			}
			got = append(got, p...)
		}
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("other bytes arrived than were sent")
	}
	if _, _, err := w.TryRead(10, pool); err != ErrWouldBlock {
		t.Errorf("then %v", err)
	}
	if _, err := w.TryReadInto(make([]byte, 10)); err != ErrWouldBlock {
		t.Errorf("then %v", err)
	}
	if n := w.conn.(*brittle).told.Load(); n != 0 {
		t.Errorf("the wrapper was told %d deadlines", n)
	}
}

// Who rests meets what any Read meets, and the next read tells it: the end again and again.
func TestRestEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		end func(w *wrapped, peer net.Conn)
		is  error
	}{
		"FIN":      {func(_ *wrapped, peer net.Conn) { closeWrite(t, peer) }, io.EOF},
		"RST":      {func(_ *wrapped, peer net.Conn) { _ = peer.(*net.TCPConn).SetLinger(0); peer.Close() }, nil},
		"Close":    {func(w *wrapped, _ net.Conn) { w.conn.Close() }, net.ErrClosed},
		"deadline": {func(w *wrapped, _ net.Conn) { _ = w.conn.SetReadDeadline(time.Unix(1, 0)) }, os.ErrDeadlineExceeded},
	} {
		for _, idle := range []bool{false, true} {
			for way, read := range ways {
				w, peer := wrap(t, func(c net.Conn) net.Conn { return &reads{c} })
				pool := newTestPool(t)
				rested := make(chan struct{})
				go func() {
					defer close(rested)
					w.WaitInRead(idle, pool)
				}()
				tt.end(w, peer)
				<-rested
				for range 2 {
					if _, err := read(w, 10, pool); err == nil || tt.is != nil && !errors.Is(err, tt.is) {
						t.Errorf("%s, %s: %v", name, way, err)
					}
				}
			}
		}
	}
}

// A deadline that has ended a wait is told once, and reading goes on after it.
func TestRestAfterDeadline(t *testing.T) {
	w, peer := wrap(t, func(c net.Conn) net.Conn { return &reads{c} })
	pool := newTestPool(t)
	_ = w.conn.SetReadDeadline(time.Unix(1, 0))
	w.WaitInRead(true, pool)
	_ = w.conn.SetReadDeadline(time.Time{})
	if _, _, err := w.TryRead(10, pool); !isTimeout(err) {
		t.Errorf("%v in place of the deadline", err)
	}
	mustWrite(t, peer, "x")
	w.WaitInRead(true, pool)
	if p, err := ways["TryRead"](w, 10, pool); string(p) != "x" || err != nil {
		t.Errorf("%q, %v", p, err)
	}
}

// An idle timeout that a wrapper sets while its Read runs, and takes back, ends a wait as it does anywhere.
func TestIdleTimeoutOfWrapper(t *testing.T) {
	const idle = 20 * time.Millisecond
	w, peer := wrap(t, func(c net.Conn) net.Conn { return &bounds{c, idle} })
	pool := newTestPool(t)
	for range 3 {
		mustWrite(t, peer, "x")
		w.WaitInRead(true, pool)
		p, err := ways["TryRead"](w, 10, pool)
		for isTimeout(err) { // a machine that is busy may be too slow
			p, err = ways["TryRead"](w, 10, pool)
		}
		if string(p) != "x" || err != nil {
			t.Errorf("%q, %v", p, err)
		}
	}
	began := time.Now()
	w.WaitInRead(true, pool)
	if _, _, err := w.TryRead(10, pool); !isTimeout(err) || time.Since(began) < idle {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

// bounds has a time limit for each Read, and only for that.
type bounds struct {
	net.Conn
	idle time.Duration
}

func (b *bounds) Read(p []byte) (int, error) {
	_ = b.Conn.SetReadDeadline(time.Now().Add(b.idle))
	defer b.Conn.SetReadDeadline(time.Time{})
	return b.Conn.Read(p)
}

// What lies in a wrapper is read before anybody waits for the socket, and so is what a goroutine of the
// wrapper's has read ahead.
func TestWhatWrappersHold(t *testing.T) {
	for name, f := range map[string]func(net.Conn) net.Conn{
		"returns it in pieces": func(c net.Conn) net.Conn { return &hoards{Conn: c} },
		"reads ahead":          wrappers.ReadAhead,
	} {
		w, peer := wrap(t, f)
		pool := newTestPool(t)
		for range 50 {
			mustWrite(t, peer, "0123456789")
			var got []byte
			for len(got) < 10 {
				w.WaitInRead(true, pool)
				p, err := ways["TryRead"](w, 10, pool)
				if err != nil {
					t.Fatalf("%s: after %q: %v", name, got, err)
				}
				got = append(got, p...)
			}
			if string(got) != "0123456789" {
				t.Errorf("%s: %q", name, got)
			}
		}
		w.conn.Close()
	}
}

// hoards takes all that there is and returns a little.
type hoards struct {
	net.Conn
	held []byte
}

func (h *hoards) Read(p []byte) (int, error) {
	if len(h.held) == 0 {
		b := make([]byte, 4096)
		n, err := h.Conn.Read(b)
		if err != nil {
			return 0, err
		}
		h.held = b[:n]
	}
	n := copy(p, h.held[:min(len(h.held), 3)])
	h.held = h.held[n:]
	return n, nil
}

// Bytes that come with the end are used first.
func TestRestLastBytes(t *testing.T) {
	w, peer := wrap(t, func(c net.Conn) net.Conn { return &lasts{c} })
	pool := newTestPool(t)
	mustWrite(t, peer, "last words")
	w.WaitInRead(true, pool)
	w.WaitInRead(true, pool) // does not wait
	if p, err := ways["TryRead"](w, 100, pool); string(p) != "last words" || err != nil {
		t.Errorf("%q, %v", p, err)
	}
	w.WaitInRead(true, pool)
	for range 2 {
		if _, _, err := w.TryRead(10, pool); err != io.EOF {
			t.Errorf("then %v", err)
		}
	}
}

// lasts returns the end with what comes first.
type lasts struct{ net.Conn }

func (l *lasts) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if err == nil {
		err = io.EOF
	}
	return n, err
}

// A wrapper that returns nothing, and no error, is not asked for ever.
func TestEmptyReads(t *testing.T) {
	w, _ := wrap(t, func(c net.Conn) net.Conn { return &idles{c} })
	w.WaitInRead(true, newTestPool(t))
	if _, _, err := w.TryRead(10, newTestPool(t)); err != io.ErrNoProgress {
		t.Error(err)
	}
}

// idles never has anything.
type idles struct{ net.Conn }

func (*idles) Read([]byte) (int, error) { return 0, nil }

// How much a busy connection reads at once follows what comes.
func TestRoom(t *testing.T) {
	w := &wrapped{room: leastRoom}
	for range 5 {
		w.adapt(w.room)
	}
	if w.room != mostRoom {
		t.Errorf("room for %d after much", w.room)
	}
	for range 5 {
		w.adapt(1)
	}
	if w.room != leastRoom {
		t.Errorf("room for %d after little", w.room)
	}
}
