// SPDX-License-Identifier: Apache-2.0

//go:build linux && !386 && !s390x

package readyreader

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// brisk is a pace for tests, which have not as much patience. What it says to wait for at
// most is as long as elsewhere.
var brisk = pace{
	patience: 500 * time.Millisecond,
	renewal:  30 * time.Millisecond,
	margin:   250 * time.Millisecond,
	slack:    200 * time.Millisecond,
	overdue:  300 * time.Millisecond,
	quiet:    20 * time.Millisecond,
	lock:     200 * time.Millisecond,
	tick:     10 * time.Millisecond,
}

// rounds has messages echoed until the wrapper is no longer untested: how many that takes depends
// on what else the machine does, as it is told by where bytes lie at certain times.
func rounds(t testing.TB, w *wrapped, peer net.Conn) {
	t.Helper()
	go echo(peer)
	for begin := time.Now(); w.known() == untested; {
		if time.Since(begin) > 20*time.Second {
			t.Fatal("it stays untested")
		}
		mustWrite(t, w.conn, "round")
		receive(t, w, 5)
	}
}

func newBrittle(c net.Conn) net.Conn { return &brittle{Conn: c} }

// A wrapper that was never quiet is known to be alone, and parks as soon as it is: without
// another byte.
func TestBusyWrapper(t *testing.T) {
	t.Parallel()
	w, peer := wrap(t, newBrittle)
	rounds(t, w, peer)
	if got := w.known(); got != alone {
		t.Fatalf("trust is %d: %s", got, w.WhyNot())
	}
	for range 200 {
		mustWrite(t, w.conn, "round")
		receive(t, w, 5)
	}
	if !settle(t, w, peer) {
		t.Error("may not park: " + w.WhyNot())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watch != nil || w.test != 0 || w.mine {
		t.Error("it keeps a timer or a deadline")
	}
}

// The other kinds are found out while they are busy, or once they are quiet after it.
func TestBusyUntrustedWrappers(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(net.Conn) net.Conn{
		"sets deadlines":   func(c net.Conn) net.Conn { return &strict{c, time.Hour} },
		"clears deadlines": func(c net.Conn) net.Conn { return &clears{c} },
		"reads ahead":      newAhead,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, peer := wrap(t, f)
			rounds(t, w, peer)
			if settle(t, w, peer) {
				t.Error("may park")
			}
			if why := w.WhyNot(); !strings.Contains(why, "socket") {
				t.Error(why)
			}
		})
	}
}

// clears lifts the deadline after each read, as those do that bound a read alone.
type clears struct{ net.Conn }

func (c *clears) Read(p []byte) (int, error) {
	c.Conn.SetReadDeadline(time.Now().Add(time.Hour))
	defer c.Conn.SetReadDeadline(time.Time{})
	return c.Conn.Read(p)
}

// A Read that waits in the wrapper, and a reader that is elsewhere, don't meet the test's
// deadline, and it is tested again.
func TestTestIsLifted(t *testing.T) {
	t.Parallel()
	for _, early := range []bool{true, false} {
		w, peer := wrap(t, func(c net.Conn) net.Conn { return &brittle{Conn: &triples{Conn: c}} })
		told := make(deadlines, 1000)
		w.sock = deadlined{w.sock, told}
		mustWrite(t, peer, "a")
		if early {
			mustWrite(t, peer, "bc")
			receive(t, w, 3)
			told.awaitLifted()
		} else {
			go func() {
				told.awaitLifted()
				mustWrite(t, peer, "bc")
			}()
			receive(t, w, 3)
		}
		mustWrite(t, peer, "def")
		receive(t, w, 3)
		if !settle(t, w, peer) {
			t.Errorf("early %t: may not park: %s", early, w.WhyNot())
		}
	}
}

// deadlines are those that a socket is told.
type deadlines chan time.Time

// deadlined is a socket that passes on what deadlines it is told.
type deadlined struct {
	net.Conn
	told deadlines
}

func (d deadlined) SetReadDeadline(t time.Time) error {
	err := d.Conn.SetReadDeadline(t)
	d.told <- t
	return err
}

// awaitLifted returns when a test has been ended that had begun.
func (d deadlines) awaitLifted() {
	for began := false; ; {
		switch t := <-d; {
		case !t.IsZero():
			began = true
		case began:
			return
		}
	}
}

// triples returns three bytes at once.
type triples struct{ net.Conn }

func (t *triples) Read(p []byte) (int, error) { return io.ReadFull(t.Conn, p[:3]) }

// Who was found alone and is not frees the reader, who would wait for the lock for good.
func TestFreeReader(t *testing.T) {
	t.Parallel()
	w, peer := wrap(t, newBrittle)
	w.isAlone()
	mustWrite(t, peer, "x")
	receive(t, w, 1)
	has, others := make(chan struct{}), make(chan error, 1)
	go func() {
		had := sync.OnceFunc(func() { close(has) })
		others <- w.rc.Read(func(uintptr) bool { had(); return false })
	}()
	<-has // the lock
	done := make(chan error, 1)
	go func() {
		_, _, err := w.ReadOnReady(10, newTestPool(t))
		done <- err
	}()
	if err := <-others; !isTimeout(err) {
		t.Error(err)
	}
	peer.Close()
	if err := <-done; err == nil {
		t.Error("no error")
	}
}

// A connection that was quiet may be left alone under the deadline of the test. It is judged without
// a reader, and who was left alone wrongly is told of it.
func TestRestEarly(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		wrap func(net.Conn) net.Conn
		want trust
	}{
		"plain":            {newBrittle, trusted},
		"sets deadlines":   {func(c net.Conn) net.Conn { return &strict{c, time.Hour} }, distrusted},
		"sets nearer ones": {func(c net.Conn) net.Conn { return &strict{c, brisk.patience / 2} }, distrusted},
		"clears deadlines": {func(c net.Conn) net.Conn { return &clears{c} }, distrusted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, peer := wrap(t, tt.wrap)
			told := make(chan struct{}, 100)
			w.Rest()
			w.Detect(func() { told <- struct{}{} })
			looks := time.NewTicker(time.Millisecond)
			for w.known() < trusted { // a machine that is busy may spoil a test
				mustWrite(t, peer, "x")
				receiveOne(t, w)
				for rests := awaitRest(t, w, peer); rests && w.known() == alone; {
					select {
					case <-looks.C:
					case <-told: // it is, or it was too late
						if rests = false; w.known() == distrusted {
							told <- struct{}{}
						}
					}
				}
			}
			if got := w.known(); got != tt.want {
				t.Fatalf("trust is %d: %s", got, w.WhyNot())
			}
			if tt.want == distrusted {
				<-told
			}
			mustWrite(t, peer, "y")
			receiveOne(t, w)
		})
	}
}

// A deadline that passes later than that of the test would have is not taken for it.
func TestRestLate(t *testing.T) {
	t.Parallel()
	slow := brisk
	slow.overdue = 2 * time.Second
	for rests := false; !rests; { // a machine that is busy may spoil a test
		w, peer := wrap(t, func(c net.Conn) net.Conn { return &strict{c, slow.patience + slow.overdue*3/4} })
		w.pace = &slow
		told := make(chan struct{}, 1)
		w.Rest()
		w.Detect(func() { told <- struct{}{} })
		mustWrite(t, peer, "x")
		receiveOne(t, w)
		looks := time.NewTicker(time.Millisecond)
		for rests = awaitRest(t, w, peer); rests && len(told) == 0; <-looks.C {
			if w.known() == trusted {
				t.Fatal("it is trusted")
			}
		}
	}
}

// receiveOne reads a byte, and does not wait for more.
func receiveOne(t *testing.T, w *wrapped) {
	t.Helper()
	pool := newTestPool(t)
	for {
		buf, _, err := w.ReadOnReady(1, pool)
		if err == nil {
			pool.Put(buf)
			return
		}
		if !Again(err) {
			t.Fatal(err)
		}
	}
}

// awaitRest waits as a reader that looks whether to park, and reports whether it was told to.
// Otherwise the peer ends the wait.
func awaitRest(t *testing.T, w *wrapped, peer net.Conn) bool {
	t.Helper()
	late := time.AfterFunc(10*time.Second, func() { peer.Write([]byte("z")) })
	defer late.Stop()
	pool := newTestPool(t)
	buf, _, err := w.ReadOnReady(1, pool)
	if err == nil {
		pool.Put(buf)
		return false
	}
	if isTimeout(err) { // the wrapper's, which is waited for
		return false
	}
	if err != ErrWouldBlock {
		t.Fatal(err)
	}
	_, _, err = w.TryRead(1, pool)
	return err == ErrWouldBlock
}

// A wrapper that returns more than there is is not believed where the sums agree by chance.
func TestExceeds(t *testing.T) {
	w, peer := wrap(t, func(c net.Conn) net.Conn { return &doubles{Conn: c} })
	mustWrite(t, peer, "abcdef")
	receive(t, w, 12)
	if w.isSettled() {
		t.Error("settled")
	}
	mustWrite(t, peer, "ghijkl") // and now the sums agree
	if err := w.rc.Read(func(uintptr) bool { return count(w.rc).received >= 12 }); err != nil {
		t.Fatal(err)
	}
	if w.isSettled() {
		t.Error("settled, by chance")
	}
}

// Before it is read otherwise, deadlines that are set beside it hold, and the account is kept.
func TestReadBlind(t *testing.T) {
	t.Parallel()
	w, peer := wrap(t, newBrittle)
	w.conn.SetDeadline(time.Now().Add(2 * brisk.patience))
	began := time.Now()
	mustWrite(t, peer, "x")
	if n, err := w.ReadBlind(make([]byte, 10)); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if !w.isSettled() {
		t.Error("not counted")
	}
	if _, err := w.ReadBlind(make([]byte, 10)); !isTimeout(err) || time.Since(began) < 2*brisk.patience {
		t.Error(err, time.Since(began))
	}
}

// A deadline that is set beside the test's does not hide that the wrapper has set one.
func TestDeadlineDuringTest(t *testing.T) {
	t.Parallel()
	w, peer := wrap(t, func(c net.Conn) net.Conn { return &strict{c, time.Hour} })
	mustWrite(t, peer, "x")
	receive(t, w, 1)
	w.SetReadDeadline(time.Time{})
	if settle(t, w, peer) {
		t.Error("may park")
	}
}

// Nor does it keep another one from parking without another byte: a transport lifts the
// deadline of the preface when that was read, and nothing may follow.
func TestDeadlineDuringTestParks(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]time.Duration{"none": 0, "in an hour": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told := &told{}
			w, peer := wrap(t, func(c net.Conn) net.Conn { told.Conn = c; return told })
			w.SetReadDeadline(time.Now().Add(time.Minute))
			var until time.Time
			if after > 0 {
				until = time.Now().Add(after)
			}
			parks := false
			for try := 0; try < 20 && !parks; try++ { // a machine that is busy may spoil a test, but not all
				mustWrite(t, peer, "x")
				receive(t, w, 1)
				w.SetReadDeadline(until)
				parks, _ = settleOnce(t, w, peer)
			}
			if !parks {
				t.Error("may not park: " + w.WhyNot())
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if !told.last.Equal(until) {
				t.Errorf("the wrapper was told %v, want %v", told.last, until)
			}
		})
	}
}

// A deadline that is too near for the test to end before it is met in time.
func TestNearDeadlineDuringTest(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{brisk.patience / 2, brisk.patience + brisk.overdue, brisk.patience + 3*brisk.overdue} {
		w, peer := wrap(t, newBrittle)
		mustWrite(t, peer, "x")
		receive(t, w, 1)
		until := time.Now().Add(after)
		w.SetReadDeadline(until)
		if _, _, err := w.ReadOnReady(10, newTestPool(t)); !isTimeout(err) || time.Now().Before(until) {
			t.Errorf("%v: %v, %v before", after, err, time.Until(until))
		}
	}
}

// told is a wrapper that knows what it was told.
type told struct {
	net.Conn
	last time.Time
}

func (d *told) Read(p []byte) (int, error) { return d.Conn.Read(p) }

func (d *told) SetReadDeadline(t time.Time) error {
	d.last = t
	return d.Conn.SetReadDeadline(t)
}
