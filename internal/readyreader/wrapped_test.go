// SPDX-License-Identifier: Apache-2.0

//go:build linux && !386 && !s390x

package readyreader

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// wrap makes a Reader of a wrapper over a new socket, whose other end is peer.
func wrap(t testing.TB, f func(net.Conn) net.Conn) (w *wrapped, peer net.Conn) {
	t.Helper()
	self, peer := connPair(t, "tcp")
	nw, _ := NewWriter(f(self))
	w, ok := nw.(*wrapped)
	if !ok && !count(rawConnOf(self)).open {
		t.Skip("this system does not count what a socket receives, as qemu-user does not")
	}
	if !ok {
		t.Fatalf("a %T", nw)
	}
	w.pace = &brisk
	return w, peer
}

// receive reads n bytes, one piece after the other, as a frame loop does.
func receive(t testing.TB, w *wrapped, n int) []byte {
	t.Helper()
	pool := newTestPool(t)
	var got []byte
	for len(got) < n {
		buf, k, err := w.ReadOnReady(4096, pool)
		if isTimeout(err) {
			continue
		}
		if err != nil {
			t.Fatalf("after %d bytes: %v", len(got), err)
		}
		got = append(got, (*buf)[:k]...)
		pool.Put(buf)
	}
	return got
}

// settle waits like an idle connection's reader until it may park, or until it is clear
// that it never may: the other end then ends the wait.
func settle(t testing.TB, w *wrapped, peer net.Conn) (parks bool) {
	t.Helper()
	for range 20 { // on a machine that is busy a test may come to nothing
		parks, again := settleOnce(t, w, peer)
		if !again {
			return parks
		}
	}
	t.Fatal("tested in vain, again and again")
	return false
}

func settleOnce(t testing.TB, w *wrapped, peer net.Conn) (parks, again bool) {
	t.Helper()
	var flag atomic.Bool
	w.Interrupt(&flag)
	over := make(chan struct{})
	defer close(over)
	var vain atomic.Bool
	go func() {
		looks := time.NewTicker(5 * time.Millisecond)
		defer looks.Stop()
		for never := 0; never < 40; {
			select {
			case <-over:
				return
			case <-looks.C:
			}
			w.mu.Lock()
			lifted := w.trust == alone && (w.waiting && w.test == 0 || w.inside && w.blind)
			if w.trust == distrusted || w.inside && !w.taker && !w.isSettled() || lifted {
				never++
			}
			vain.Store(lifted)
			w.mu.Unlock()
		}
		peer.Write([]byte("end"))
	}()
	pool := newTestPool(t)
	buf, _, err := w.ReadOnReady(4096, pool)
	if buf != nil {
		pool.Put(buf)
		return false, vain.Load()
	}
	if !isTimeout(err) || !flag.Load() {
		t.Fatal(err, flag.Load())
	}
	if buf, _, err = w.TryRead(4096, pool); buf != nil {
		pool.Put(buf)
	}
	return err == ErrWouldBlock, false
}

// What follows are the wrappers that don't park, each for a reason of its own.

// strict sets a deadline for each read, as those with an idle timeout do.
type strict struct {
	net.Conn
	idle time.Duration
}

func (s *strict) Read(p []byte) (int, error) {
	s.Conn.SetReadDeadline(time.Now().Add(s.idle))
	return s.Conn.Read(p)
}

// ahead has a goroutine that reads.
type ahead struct {
	net.Conn
	r *io.PipeReader
}

func newAhead(c net.Conn) net.Conn {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(struct{ io.Writer }{w}, struct{ io.Reader }{c})
		w.CloseWithError(err)
	}()
	return &ahead{c, r}
}

func (a *ahead) Read(p []byte) (int, error) { return a.r.Read(p) }

// skips drops the first bytes.
type skips struct {
	net.Conn
	left int
}

func (s *skips) Read(p []byte) (int, error) {
	for s.left > 0 {
		n, err := s.Conn.Read(p[:min(len(p), s.left)])
		if s.left -= n; err != nil {
			return 0, err
		}
	}
	return s.Conn.Read(p)
}

// doubles returns each byte twice.
type doubles struct {
	net.Conn
	held []byte
}

func (d *doubles) Read(p []byte) (int, error) {
	if len(d.held) == 0 {
		b := make([]byte, 10)
		n, err := d.Conn.Read(b)
		if err != nil {
			return 0, err
		}
		for _, c := range b[:n] {
			d.held = append(d.held, c, c)
		}
	}
	n := copy(p, d.held)
	d.held = d.held[n:]
	return n, nil
}

func TestUntrustedWrappers(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(net.Conn) net.Conn{
		"sets deadlines": func(c net.Conn) net.Conn { return &strict{c, time.Hour} },
		"reads ahead":    newAhead,
		"skips":          func(c net.Conn) net.Conn { return &skips{c, 3} },
		"doubles":        func(c net.Conn) net.Conn { return &doubles{Conn: c} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, peer := wrap(t, f)
			for range 3 {
				mustWrite(t, peer, "abcdef")
				receive(t, w, 3)
				if settle(t, w, peer) {
					t.Fatal("may park")
				}
			}
		})
	}
}

// An idle timeout of the wrapper's ends the connection as it would without us.
func TestIdleTimeoutOfWrapper(t *testing.T) {
	t.Parallel()
	w, peer := wrap(t, func(c net.Conn) net.Conn { return &strict{c, 5 * brisk.patience / 2} })
	mustWrite(t, peer, "hello")
	receive(t, w, 5)
	var flag atomic.Bool
	w.Interrupt(&flag)
	began := time.Now()
	_, _, err := w.ReadOnReady(100, newTestPool(t))
	if !errors.Is(err, os.ErrDeadlineExceeded) || flag.Load() {
		t.Errorf("%v, asked for by us: %t", err, flag.Load())
	}
	if d := time.Since(began); d < 2*brisk.patience {
		t.Errorf("after %v", d)
	}
}

// These park.

// brittle fails for good once a read has failed.
type brittle struct {
	net.Conn
	err error
}

func (b *brittle) Read(p []byte) (n int, err error) {
	if b.err != nil {
		return 0, b.err
	}
	n, b.err = b.Conn.Read(p)
	return n, b.err
}

func TestWrapperSeesNoDeadlineOfOurs(t *testing.T) {
	t.Parallel()
	w, peer := wrap(t, func(c net.Conn) net.Conn { return &brittle{Conn: c} })
	for i := range 20 {
		mustWrite(t, peer, "hello")
		if got := receive(t, w, 5); string(got) != "hello" {
			t.Fatalf("%q", got)
		}
		if i%4 == 0 && !settle(t, w, peer) {
			t.Fatal("may not park")
		}
		w.SetReadDeadline(time.Time{}) // as who was interrupted does
	}
}

func TestWrapperEnds(t *testing.T) {
	for name, end := range map[string]func(self, peer net.Conn){
		"FIN":   func(_, peer net.Conn) { closeWrite(t, peer) },
		"RST":   func(_, peer net.Conn) { peer.(*net.TCPConn).SetLinger(0); peer.Close() },
		"Close": func(self, _ net.Conn) { self.Close() },
	} {
		for _, parked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, parked %t", name, parked), func(t *testing.T) {
				t.Parallel()
				w, peer := wrap(t, func(c net.Conn) net.Conn { return &brittle{Conn: c} })
				mustWrite(t, peer, "x")
				receive(t, w, 1)
				if parked && !settle(t, w, peer) {
					t.Fatal("may not park")
				}
				w.SetReadDeadline(time.Time{})
				go end(w.conn, peer)
				_, _, err := w.ReadOnReady(10, newTestPool(t))
				switch {
				case name == "FIN" && err != io.EOF, name == "Close" && !errors.Is(err, net.ErrClosed), err == nil:
					t.Error(err)
				}
				if _, _, again := w.TryRead(10, newTestPool(t)); again == nil || again == ErrWouldBlock {
					t.Errorf("then %v", again)
				}
			})
		}
	}
}

func TestWrapperDeadline(t *testing.T) {
	t.Parallel()
	w, peer := wrap(t, func(c net.Conn) net.Conn { return &brittle{Conn: c} })
	mustWrite(t, peer, "x")
	receive(t, w, 1)
	if !settle(t, w, peer) { // before that the wrapper may meet deadlines of others
		t.Fatal("may not park")
	}
	w.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if _, _, err := w.ReadOnReady(10, newTestPool(t)); !isTimeout(err) {
		t.Error(err)
	}
	w.SetReadDeadline(time.Time{})
	mustWrite(t, peer, "y")
	receive(t, w, 1)
}

// erratic reads more than it returns, and returns it in pieces. It drops what comes first.
type erratic struct {
	net.Conn
	rnd    *rand.Rand
	drop   int
	held   []byte
	sets   bool // deadlines
	delays bool // returns what it has later, or nothing for a while
	lies   bool // returns some bytes twice, and holds none
	made   int  // how many it has returned that were not sent
}

func (e *erratic) Read(p []byte) (int, error) {
	if e.sets {
		e.Conn.SetReadDeadline([]time.Time{{}, time.Now().Add(time.Hour)}[e.rnd.IntN(2)])
	}
	if e.lies {
		return e.lie(p)
	}
	for len(e.held) == 0 {
		if e.delays && e.rnd.IntN(4) == 0 {
			return 0, nil
		}
		b := make([]byte, 1+e.rnd.IntN(300))
		n, err := e.Conn.Read(b)
		k := min(n, e.drop)
		e.drop -= k
		e.held = append(e.held, b[k:n]...)
		if err != nil {
			return 0, err
		}
	}
	if e.delays {
		<-time.After(time.Duration(e.rnd.IntN(200)) * time.Microsecond)
	}
	n := copy(p, e.held[:1+e.rnd.IntN(len(e.held))])
	e.held = e.held[n:]
	return n, nil
}

func (e *erratic) lie(p []byte) (int, error) {
	n, err := e.Conn.Read(p[:max(len(p)-1, 1)])
	if 0 < n && n < len(p) && e.rnd.IntN(4) == 0 {
		p[n] = p[n-1]
		e.made++
		n++
	}
	return n, err
}

// FuzzWrapped lets a wrapper buffer, split and delay what it reads, set deadlines, read
// ahead, or lie about how much there was, and interrupts the reader all the time, whatever it
// has found out. All bytes have to arrive, in order and without another one being sent, and
// where the reader is told that there is nothing, there is nothing.
func FuzzWrapped(f *testing.F) {
	for seed := range uint64(48) {
		f.Add(seed, []byte{1, 2, 250, 9, 0, 77, 3})
	}
	f.Add(uint64(1), []byte{1, 2, 48, 255, 247, 76})
	f.Fuzz(func(t *testing.T, seed uint64, sizes []byte) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		wrapper := &erratic{rnd: rnd}
		w, peer := wrap(t, func(c net.Conn) net.Conn {
			wrapper.Conn = c
			if seed%8 == 4 {
				return newAhead(wrapper)
			}
			return wrapper
		})
		credited := false // all the time, whatever it does
		switch seed % 8 {
		case 1: // one that takes a header
			w.takes()
			wrapper.drop = int(seed % 300)
			mustWrite(t, peer, strings.Repeat("?", wrapper.drop))
		case 2:
			w.isAlone()
		case 3:
			w.trust = trusted
			credited = seed%16 == 3
		case 5:
			wrapper.sets = true
		case 6:
			wrapper.delays = true
		case 7:
			wrapper.lies = true
			if seed%16 == 7 {
				w.trust = trusted
				credited = seed%32 == 7
			}
		}
		var want []byte
		for _, n := range sizes[:min(len(sizes), 50)] {
			piece := make([]byte, n)
			for i := range piece {
				piece[i] = byte(len(want) + i)
			}
			want = append(want, piece...)
		}
		// The other end asks for an answer to each piece, so nothing is left over.
		acks := make(chan struct{}, 1)
		chunk := max(1+int(seed%97), len(want)/200) // not too many rounds: a fuzz target has ten seconds
		go func() {
			for p := want; len(p) > 0; {
				k := min(len(p), chunk)
				peer.Write(p[:k])
				p = p[k:]
				<-acks
			}
		}()
		pool := newTestPool(t)
		var got []byte
		var flag atomic.Bool
		late := time.AfterFunc(20*time.Second, func() { panic("lost wake-up") })
		defer late.Stop()
		for len(got)-wrapper.made < len(want) {
			if seed%3 == 0 {
				w.Interrupt(&flag)
			}
			if credited {
				w.extend()
				w.clean = true
				w.lone = uint8(seed) // from loneWaits on nothing is asked after a wake-up
			}
			buf, n, err := w.ReadOnReady(1+int(seed%50), pool)
			switch {
			case isTimeout(err):
				if buf, n, err = w.TryRead(64, pool); err == ErrWouldBlock {
					if kind := seed % 8; kind == 4 || kind == 5 {
						t.Fatal("it may park")
					}
					if len(wrapper.held) > 0 {
						t.Fatalf("%d bytes are held", len(wrapper.held))
					}
					w.SetReadDeadline(time.Time{})
					continue
				}
			case err != nil:
				t.Fatal(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, (*buf)[:n]...)
			pool.Put(buf)
			if sent := len(got) - wrapper.made; sent%chunk == 0 || sent == len(want) {
				acks <- struct{}{}
			}
		}
		if !wrapper.lies && !bytes.Equal(got, want) {
			t.Error("other bytes arrived than were sent")
		}
	})
}

// Each reason that turns out while a wrapper is read.
func TestWhyNotWrapped(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		state func(w *wrapped, peer net.Conn)
		want  string
	}{
		"not read yet": {func(*wrapped, net.Conn) {}, ""},
		"even": {func(w *wrapped, peer net.Conn) {
			mustWrite(t, peer, "x")
			receive(t, w, 1)
		}, ""},
		"sets deadlines": {func(w *wrapped, _ net.Conn) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.distrust("sets the read deadline of its socket")
		}, "*readyreader.brittle sets the read deadline of its socket"},
		"not told": {func(w *wrapped, _ net.Conn) {
			w.isAlone()
			w.mu.Lock()
			defer w.mu.Unlock()
			w.blind = true
		}, "*readyreader.brittle could not be told from one that sets the read deadline of its socket, as the machine was too busy; it is looked at again when more was read"},
		"not even": {func(w *wrapped, peer net.Conn) {
			mustWrite(t, peer, "x")
			receive(t, w, 1)
			w.returned.Add(1) // as if it had made one up
			mustWrite(t, peer, "yz")
			if err := w.rc.Read(func(uintptr) bool { return count(w.rc).received >= 3 }); err != nil {
				t.Error(err)
			}
		}, "*readyreader.brittle has not returned the same number of bytes as its socket received: it holds some, or changes the stream, or is busy"},
	} {
		w, peer := wrap(t, newBrittle)
		tt.state(w, peer)
		if got := w.WhyNot(); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		w.Withdraw()
	}
}

// A wrapper of which nothing is known yet is waited for, not left to the poller: it may have a
// goroutine that reads ahead, which would take the bytes that the poller waits for.
func TestUntestedIsWaitedFor(t *testing.T) {
	t.Parallel()
	w, peer := wrap(t, func(c net.Conn) net.Conn { return &brittle{Conn: c} })
	mustWrite(t, peer, "x")
	if _, err := io.ReadFull(w.conn, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	w.resume(1) // the account is even, and nothing else is known
	if _, _, err := w.TryRead(10, newTestPool(t)); !isTimeout(err) {
		t.Errorf("TryRead: %v", err)
	}
}
