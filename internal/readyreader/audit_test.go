// SPDX-License-Identifier: Apache-2.0

//go:build linux && !386 && !s390x

package readyreader

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// patient is a pace at which credit is given and kept however slow the machine is: the test
// audits it.
func patient() *pace {
	p := brisk
	p.tick = time.Hour
	return &p
}

// setPace is for a wrapper whose timers may run.
func setPace(w *wrapped, p *pace) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pace = p
}

// isGiven reports whether w has credit.
func isGiven(w *wrapped) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.given
}

// earnCredit echoes messages until w has credit.
func earnCredit(t testing.TB, w *wrapped, peer net.Conn) {
	t.Helper()
	setPace(w, patient())
	w.isAlone()
	w.lone = 0
	for range 100 * creditAfter {
		receiveLate(t, w, peer, "round")
		if isGiven(w) {
			return
		}
	}
	t.Fatal("no credit")
}

// receiveLate receives what the peer sends once the reader waits for it.
func receiveLate(t testing.TB, w *wrapped, peer net.Conn, s string) {
	t.Helper()
	sent := sendLate(w, peer, s)
	receive(t, w, len(s))
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
}

// sendLate has the peer send once the reader waits for it.
func sendLate(w *wrapped, peer net.Conn, s string) <-chan error {
	sent := make(chan error, 1)
	go func() {
		awaitWait(w)
		_, err := io.WriteString(peer, s)
		sent <- err
	}()
	return sent
}

// auditIdle audits w, once the reader waits, as if it had not waited often.
func auditIdle(w *wrapped) {
	awaitWait(w)
	w.mu.Lock()
	w.waits = 0
	w.mu.Unlock()
	w.audit()
}

// awaitWait returns once the reader has looked at the socket, in its wait.
func awaitWait(w *wrapped) {
	for looks := time.NewTicker(50 * time.Microsecond); ; <-looks.C {
		w.mu.Lock()
		waits := w.waiting && w.locked.Load()
		w.mu.Unlock()
		if waits {
			return
		}
	}
}

// Credit ends when waits no longer come thick, and can be had again.
func TestCredit(t *testing.T) {
	t.Parallel()
	w, peer := wrap(t, newBrittle)
	for range 2 {
		earnCredit(t, w, peer)
		for range creditWaits {
			receiveLate(t, w, peer, "round")
		}
		if !w.brief || !w.clean {
			t.Error("the account was looked at")
		}
		w.audit()
		if !isGiven(w) {
			t.Error("it has lost its credit")
		}
		w.audit()
		if isGiven(w) {
			t.Error("it has credit, and was not waited for")
		}
	}
	setPace(w, &brisk)
	if !settle(t, w, peer) {
		t.Error("may not park: " + w.WhyNot())
	}
}

// turncoat hands over all that it takes, until it keeps what comes while it is in Read.
type turncoat struct {
	net.Conn
	keeps bool
	peer  net.Conn
	held  []byte
}

func (c *turncoat) Read(p []byte) (int, error) {
	if len(c.held) > 0 {
		n := copy(p, c.held)
		c.held = c.held[n:]
		return n, nil
	}
	if !c.keeps {
		return c.Conn.Read(p)
	}
	c.keeps = false
	n, err := c.Conn.Read(p)
	if err != nil {
		return n, err
	}
	if _, err := c.peer.Write([]byte("held")); err != nil {
		return n, err
	}
	c.held = make([]byte, 4)
	_, err = io.ReadFull(c.Conn, c.held)
	return n, err
}

// earnTrust is earnCredit until nothing is asked after a wake-up.
func earnTrust(t testing.TB, w *wrapped, peer net.Conn) {
	t.Helper()
	earnCredit(t, w, peer)
	for range loneWaits + 1 {
		receiveLate(t, w, peer, "round")
	}
	if w.lone != loneWaits || !w.clean {
		t.Fatalf("after %d waits: %+v", loneWaits, w.course)
	}
}

// What a wrapper keeps where nothing is asked is found by an audit.
func TestAuditFindsWhatNobodyAsked(t *testing.T) {
	t.Parallel()
	var wrapper *doubtful
	w, peer := wrap(t, func(c net.Conn) net.Conn { wrapper = &doubtful{Conn: c}; return wrapper })
	earnTrust(t, w, peer)
	wrapper.keeps = true
	sent := sendLate(w, peer, "round")
	if got := receive(t, w, 2); string(got) != "ro" {
		t.Errorf("%q", got)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if !w.clean {
		t.Error("it is noticed")
	}
	go auditIdle(w)
	if got := receive(t, w, 3); string(got) != "und" {
		t.Errorf("%q", got)
	}
	w.mu.Lock()
	spent := w.spent
	w.mu.Unlock()
	if !spent {
		t.Error("it was not found out")
	}
	w.Withdraw()
}

// watched is told when it is read.
type watched struct {
	net.Conn
	onRead func()
}

func (c *watched) Read(p []byte) (int, error) {
	if c.onRead != nil {
		c.onRead()
	}
	return c.Conn.Read(p)
}

// A wake-up for nothing, where nothing is asked after one, has the Read wait for what comes next.
func TestVainWakeUp(t *testing.T) {
	t.Parallel()
	wrapper := new(watched)
	w, peer := wrap(t, func(c net.Conn) net.Conn { wrapper.Conn = c; return wrapper })
	earnTrust(t, w, peer)
	if _, _, err := w.beginWait(); err != nil {
		t.Fatal(err)
	}
	err := w.rc.Control(func(fd uintptr) {
		if w.isDue(fd) || !w.isDue(fd) {
			t.Error("it does not wait at first, or looks after a wake-up")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	var flag atomic.Bool
	sent := make(chan error, 1)
	wrapper.onRead = func() {
		w.Interrupt(&flag) // which leaves the Read alone
		go func() {
			_, err := io.WriteString(peer, "round")
			sent <- err
		}()
	}
	var b [10]byte
	if n, err := w.through(b[:]); n != 5 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	wrapper.onRead = nil
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if _, err := w.wait(); !isTimeout(err) {
		t.Errorf("the interruption is lost: %v", err)
	}
	setPace(w, &brisk)
	if !settle(t, w, peer) {
		t.Error("may not park: " + w.WhyNot())
	}
}

// What a wrapper has begun to keep while it had credit is read without another byte.
func TestAuditFindsWhatIsHeld(t *testing.T) {
	t.Parallel()
	wrapper := new(turncoat)
	w, peer := wrap(t, func(c net.Conn) net.Conn { wrapper.Conn = c; return wrapper })
	wrapper.peer = peer
	earnCredit(t, w, peer)
	wrapper.keeps = true
	receiveLate(t, w, peer, "round")
	if !w.clean {
		t.Fatal("it is noticed")
	}
	go auditIdle(w)
	if got := receive(t, w, 4); string(got) != "held" {
		t.Errorf("%q", got)
	}
	w.extend()
	if isGiven(w) {
		t.Error("it is given credit again")
	}
	setPace(w, &brisk)
	if !settle(t, w, peer) {
		t.Error("may not park: " + w.WhyNot())
	}
}

// What it keeps of what the socket had is noticed at once.
func TestShortReadIsNoticed(t *testing.T) {
	t.Parallel()
	var wrapper *doubtful
	w, peer := wrap(t, func(c net.Conn) net.Conn { wrapper = &doubtful{Conn: c}; return wrapper })
	earnCredit(t, w, peer)
	wrapper.keeps = true
	for range 10 {
		receiveLate(t, w, peer, "round")
	}
	if !isGiven(w) {
		t.Error("it was found out by an audit")
	}
	w.Withdraw()
}

// doubtful hands over what it takes, until it takes all and hands it over in pieces.
type doubtful struct {
	net.Conn
	keeps bool
	held  []byte
}

func (d *doubtful) Read(p []byte) (n int, err error) {
	if len(d.held) == 0 {
		if !d.keeps {
			return d.Conn.Read(p)
		}
		b := make([]byte, len(p))
		if n, err = d.Conn.Read(b); err != nil {
			return 0, err
		}
		d.held = b[:n]
	}
	n = copy(p, d.held[:min(len(d.held), 2)])
	d.held = d.held[n:]
	return n, nil
}

// The end of the stream is met by a reader that waits on credit, and by one that is about to.
func TestEndOnCredit(t *testing.T) {
	t.Parallel()
	for _, waits := range []bool{true, false} {
		w, peer := wrap(t, newBrittle)
		earnCredit(t, w, peer)
		receiveLate(t, w, peer, "round")
		if !w.clean {
			t.Error("not on credit")
		}
		if waits {
			go func() {
				awaitWait(w)
				closeWrite(t, peer)
			}()
		} else {
			closeWrite(t, peer)
		}
		if _, _, err := w.ReadOnReady(10, newTestPool(t)); err != io.EOF {
			t.Error(err)
		}
		w.Withdraw()
	}
}
