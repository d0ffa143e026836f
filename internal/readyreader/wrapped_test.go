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
	"reflect"
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
	if !ok && !isCounted(rawConnOf(self)) {
		t.Skip("this system does not count what a socket receives, as qemu-user does not")
	}
	if !ok {
		t.Fatalf("a %T", nw)
	}
	return w, peer
}

// receive reads n bytes, one piece after the other, as a frame loop does.
func receive(t testing.TB, w *wrapped, n int) []byte {
	t.Helper()
	pool := newTestPool(t)
	var got []byte
	for len(got) < n {
		buf, k, err := w.ReadOnReady(4096, pool)
		if err != nil {
			t.Fatalf("after %d bytes: %v", len(got), err)
		}
		got = append(got, (*buf)[:k]...)
		pool.Put(buf)
	}
	return got
}

// awaitReceived waits until the socket has received n bytes, whoever reads them.
func awaitReceived(t testing.TB, w *wrapped, n uint64) {
	t.Helper()
	for got := uint64(0); got < n; {
		if err := w.rc.Control(func(fd uintptr) { got, _ = received(fd) }); err != nil {
			t.Fatal(err)
		}
	}
}

// brittle fails for good once a read has failed.
type brittle struct {
	net.Conn
	err error
}

func newBrittle(c net.Conn) net.Conn { return &brittle{Conn: c} }

func (b *brittle) Read(p []byte) (n int, err error) {
	if b.err != nil {
		return 0, b.err
	}
	n, b.err = b.Conn.Read(p)
	return n, b.err
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

// What returns all that came can be left alone, also if it reads ahead, as soon as nothing is left.
func TestEvenWrappers(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(net.Conn) net.Conn{"brittle": newBrittle, "reads ahead": newAhead} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, peer := wrap(t, f)
			for i := range 20 {
				mustWrite(t, peer, "hello")
				awaitReceived(t, w, uint64(5*i+5))
				if w.mayLeave() {
					t.Fatal("parks with input")
				}
				if got := receive(t, w, 5); string(got) != "hello" {
					t.Fatalf("%q", got)
				}
				if !w.mayLeave() {
					t.Fatal("does not park")
				}
			}
		})
	}
}

// What takes, or makes, or holds some never is, by chance neither.
func TestUnevenWrappers(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(net.Conn) net.Conn{
		"skips":   func(c net.Conn) net.Conn { return &skips{c, 3} },
		"doubles": func(c net.Conn) net.Conn { return &doubles{Conn: c} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, peer := wrap(t, f)
			for range 3 {
				mustWrite(t, peer, "abcdef")
				receive(t, w, 3)
				if w.mayLeave() {
					t.Fatal("parks")
				}
			}
		})
	}
	w, peer := wrap(t, func(c net.Conn) net.Conn { return &doubles{Conn: c} })
	mustWrite(t, peer, "abcdef")
	receive(t, w, 12)
	if w.mayLeave() {
		t.Error("parks with bytes that nobody sent")
	}
	mustWrite(t, peer, "ghijkl") // and now the sums agree
	awaitReceived(t, w, 12)
	if _, err := io.ReadFull(w.conn.(*doubles).Conn, make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	if w.mayLeave() {
		t.Error("parks where the sums agree by chance")
	}
}

// What a goroutine of the wrapper's has taken is waited for.
func TestUntestedIsWaitedFor(t *testing.T) {
	t.Parallel()
	w, peer := wrap(t, newAhead)
	mustWrite(t, peer, "x")
	awaitReceived(t, w, 1)
	if w.mayLeave() {
		t.Error("parks, and the byte is with the wrapper")
	}
	receive(t, w, 1)
}

// Nothing that is asked of a reader is seen by the wrapper, or by its socket.
func TestWrapperIsNotDisturbed(t *testing.T) {
	t.Parallel()
	w, peer := wrap(t, newBrittle)
	done := make(chan []byte)
	go func() { done <- receive(t, w, 5) }()
	for !w.inside.Load() {
	}
	var flag atomic.Bool
	for range 100 {
		w.Interrupt(&flag)
		w.Look()
		w.WhyNot()
	}
	if flag.Load() {
		t.Error("it says that it was interrupted")
	}
	mustWrite(t, peer, "hello")
	if got := <-done; string(got) != "hello" {
		t.Errorf("%q", got)
	}
}

func TestWrapperEnds(t *testing.T) {
	for name, end := range map[string]func(self, peer net.Conn){
		"FIN":   func(_, peer net.Conn) { closeWrite(t, peer) },
		"RST":   func(_, peer net.Conn) { peer.(*net.TCPConn).SetLinger(0); peer.Close() },
		"Close": func(self, _ net.Conn) { self.Close() },
	} {
		for _, left := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, left alone %t", name, left), func(t *testing.T) {
				t.Parallel()
				w, peer := wrap(t, newBrittle)
				mustWrite(t, peer, "x")
				receive(t, w, 1)
				if left && !w.mayLeave() {
					t.Fatal("does not park")
				}
				go end(w.conn, peer)
				_, _, err := w.ReadOnReady(10, newTestPool(t))
				switch {
				case name == "FIN" && err != io.EOF, name == "Close" && !errors.Is(err, net.ErrClosed), err == nil:
					t.Error(err)
				}
				if w.mayLeave() {
					t.Error("parks at its end")
				}
			})
		}
	}
}

// A deadline of ours ends a Read, and is not taken for the wrapper's.
func TestWrapperDeadline(t *testing.T) {
	t.Parallel()
	w, peer := wrap(t, func(c net.Conn) net.Conn { return &skips{Conn: c} })
	w.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if _, _, err := w.ReadOnReady(10, newTestPool(t)); !isTimeout(err) {
		t.Error(err)
	}
	lookTwice(w)
	w.SetReadDeadline(time.Time{})
	mustWrite(t, peer, "y")
	receive(t, w, 1)
	if !w.mayLeave() {
		t.Error(w.WhyNot())
	}
}

// lookTwice has two Looks come to their end.
func lookTwice(w *wrapped) {
	for range 2 {
		for w.Look(); w.looking.Load(); time.Sleep(time.Millisecond) {
		}
	}
}

// strict sets a deadline for each read, as those with an idle timeout do.
type strict struct {
	net.Conn
	idle time.Duration
}

func (s *strict) Read(p []byte) (int, error) {
	s.Conn.SetReadDeadline(time.Now().Add(s.idle))
	return s.Conn.Read(p)
}

// A deadline of the wrapper's that passes while nobody reads is found, and so the wrapper meets its
// next one. Others of the type are waited for from the start.
func TestIdleTimeoutOfWrapper(t *testing.T) {
	t.Parallel()
	t.Cleanup(func() { setters.Delete(reflect.TypeFor[*strict]()) })
	newStrict := func(c net.Conn) net.Conn { return &strict{c, 50 * time.Millisecond} }
	w, peer := wrap(t, newStrict)
	told := make(chan struct{}, 1)
	w.Detect(func() { told <- struct{}{} })
	mustWrite(t, peer, "hello")
	receive(t, w, 5)
	if !w.mayLeave() {
		t.Fatal("does not park, before anything is known")
	}
	for done := false; !done; {
		lookTwice(w)
		select {
		case <-told:
			done = true
		default:
		}
	}
	want := "*readyreader.strict sets the read deadline of its socket"
	if why := w.WhyNot(); w.mayLeave() || why != want {
		t.Errorf("parks, or not for %q but %q", want, why)
	}
	if _, _, err := w.ReadOnReady(10, newTestPool(t)); !isTimeout(err) {
		t.Error(err)
	}
	w, peer = wrap(t, newStrict)
	mustWrite(t, peer, "hello")
	receive(t, w, 5)
	if w.mayLeave() || w.WhyNot() != want {
		t.Error("the next of its type parks")
	}
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
// ahead, take a header, or lie about how much there was. All bytes have to arrive, in order and
// without another one being sent, and where the reader is told that there is nothing, there is nothing.
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
		switch seed % 8 {
		case 1: // one that takes a header
			wrapper.drop = int(seed % 300)
			w.taker = true
			mustWrite(t, peer, strings.Repeat("?", wrapper.drop))
		case 5:
			wrapper.sets = true
		case 6:
			wrapper.delays = true
		case 7:
			wrapper.lies = true
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
		late := time.AfterFunc(20*time.Second, func() { panic("lost bytes") })
		defer late.Stop()
		for len(got)-wrapper.made < len(want) {
			w.Interrupt(&flag)
			if seed%8 != 4 && w.mayLeave() && len(wrapper.held) > 0 { // one that reads ahead holds what it likes
				t.Fatalf("%d bytes are held", len(wrapper.held))
			}
			buf, n, err := w.ReadOnReady(1+int(seed%50), pool)
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

// Each reason that turns out while a wrapper is read. TestIdleTimeoutOfWrapper has the other.
func TestWhyNotWrapped(t *testing.T) {
	t.Parallel()
	w, peer := wrap(t, newBrittle)
	wantWhy(t, w, "")
	mustWrite(t, peer, "x")
	receive(t, w, 1)
	wantWhy(t, w, "")
	mustWrite(t, peer, "yz")
	awaitReceived(t, w, 3)
	wantWhy(t, w, "*readyreader.brittle has not returned the same number of bytes as its socket received: it holds some, or changes the stream, or is busy")
	receive(t, w, 2)
	wantWhy(t, w, "")
	w.returned.Add(1) // as if it had made one up
	w.mayLeave()
	wantWhy(t, w, "*readyreader.brittle has returned more than its socket received")
}

func wantWhy(t *testing.T, w *wrapped, want string) {
	t.Helper()
	if got := w.WhyNot(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// What is read at once, and held while a Read waits, follows what comes.
func TestRoomOfWrapped(t *testing.T) {
	w := &wrapped{room: leastRoom}
	for i, tt := range []struct{ n, want int }{{100, leastRoom}, {leastRoom, 4 * leastRoom}, {4 * leastRoom, 16 * leastRoom}, {8 * leastRoom, 16 * leastRoom}, {100, 8 * leastRoom}, {100, 4 * leastRoom}, {100, 2 * leastRoom}, {100, leastRoom}, {100, leastRoom}} {
		if w.adapt(tt.n); w.room != tt.want {
			t.Errorf("%d: room for %d, want %d", i, w.room, tt.want)
		}
	}
}

// Once a deadline of ours has passed a reader does not leave the connection alone: it has to meet it.
func TestPassedDeadlineIsMet(t *testing.T) {
	w, peer := wrap(t, newBrittle)
	mustWrite(t, peer, "x")
	receive(t, w, 1)
	pool := newTestPool(t)
	if _, _, err := w.TryRead(4096, pool); err != ErrWouldBlock {
		t.Fatalf("nothing is there: %v", err)
	}
	if err := w.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.TryRead(4096, pool); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("past the deadline: %v", err)
	}
}
