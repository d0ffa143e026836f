// SPDX-License-Identifier: Apache-2.0

//go:build unix || windows

package park

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/testutils"
)

// lost is when a wake counts as lost. A wake takes microseconds; the rest is
// for machines with other work.
const lost = 30 * time.Second

// errNoInput is readNow's where a read would have to wait.
var errNoInput = errors.New("no input")

func needsPoller(t testing.TB) {
	if !Supported() {
		t.Skip("no poller on this system")
	}
}

// sockConn is the smallest connection that parks: it counts what it reads.
type sockConn struct {
	Handle
	c    net.Conn
	rc   syscall.RawConn
	got  atomic.Int64 // bytes
	dry  atomic.Int64 // wakes that found nothing
	read chan struct{}
	gone chan struct{} // closed by the exit path; twice panics
}

func newSockConn(t testing.TB, c net.Conn) *sockConn {
	t.Helper()
	rc, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	neverWaits(t, rc)
	s := &sockConn{c: c, rc: rc, read: make(chan struct{}, 1), gone: make(chan struct{})}
	s.Init(owned{rc, s})
	return s
}

func (s *sockConn) Wake() { go s.reader(true) }

func (s *sockConn) Run() { s.reader(true) }

func (s *sockConn) kick() {
	if s.Kick() {
		go s.reader(false)
	}
}

func (s *sockConn) close() {
	if s.Close() {
		close(s.gone)
	}
	s.c.Close()
}

// reader holds the role until it parks or the connection ends.
func (s *sockConn) reader(woken bool) {
	p := make([]byte, 256)
	for first := true; ; first = false {
		n, err := s.try(p)
		switch {
		case n > 0:
			s.got.Add(int64(n))
			select {
			case s.read <- struct{}{}:
			default:
			}
			continue
		case errors.Is(err, os.ErrDeadlineExceeded):
			s.c.SetReadDeadline(time.Time{})
			continue
		case err == errNoInput:
			if first && woken {
				s.dry.Add(1)
			}
			err = s.Park()
			if err == nil {
				return
			}
			if err == ErrKicked {
				continue
			}
		}
		if s.Close() {
			panic("the reader's own Close found the handle parked")
		}
		s.c.Close()
		close(s.gone)
		return
	}
}

func (s *sockConn) try(p []byte) (n int, err error) {
	rerr := s.rc.Read(func(fd uintptr) bool {
		n, err = readNow(fd, p)
		return true
	})
	switch {
	case rerr != nil:
		return 0, rerr
	case n == 0 && err == nil:
		return 0, io.EOF
	}
	return n, err
}

// await waits until the connection has read so much.
func (s *sockConn) await(t testing.TB, n int64) bool {
	t.Helper()
	var limit <-chan time.Time
	for s.got.Load() < n {
		if limit == nil {
			limit = time.After(lost)
		}
		select {
		case <-s.read:
		case <-limit:
			t.Errorf("lost wake: read %d of %d bytes, parked %v", s.got.Load(), n, s.Parked())
			return false
		}
	}
	return true
}

func (s *sockConn) awaitGone(t testing.TB) {
	t.Helper()
	select {
	case <-s.gone:
	case <-time.After(lost):
		t.Errorf("lost end: parked %v", s.Parked())
	}
}

type listener struct {
	net.Listener
	network string
}

func on(t testing.TB, network string) listener {
	t.Helper()
	return listener{testutils.ListenOn(t, network), network}
}

func (l listener) pair(t testing.TB) (self, peer net.Conn) {
	t.Helper()
	self, err := net.Dial(l.network, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	peer, err = l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { self.Close(); peer.Close() })
	return self, peer
}

func forEachNetwork(t *testing.T, f func(t *testing.T, l listener)) {
	needsPoller(t)
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			leakcheck.Check(t)
			f(t, on(t, network))
		})
	}
}

func TestSocketWakes(t *testing.T) {
	forEachNetwork(t, func(t *testing.T, l listener) {
		self, peer := l.pair(t)
		s := newSockConn(t, self)
		s.reader(false)
		for i := range int64(100) {
			if _, err := peer.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			if !s.await(t, i+1) {
				break
			}
		}
		peer.Close()
		s.awaitGone(t)
		if got := ReadStats(); got != (Stats{}) {
			t.Errorf("stats after the last close: %+v", got)
		}
	})
}

// What was there before Park wakes at once: data, the end, and a reset.
func TestSocketReadyBeforePark(t *testing.T) {
	forEachNetwork(t, func(t *testing.T, l listener) {
		for _, what := range []string{"data", "FIN", "half close", "RST"} {
			self, peer := l.pair(t)
			woken := make(wakeChan, 1)
			var h Handle
			rc, _ := self.(syscall.Conn).SyscallConn()
			h.Init(owned{rc, woken})
			switch what {
			case "data":
				peer.Write([]byte("x"))
			case "FIN":
				peer.Close()
			case "half close":
				peer.(interface{ CloseWrite() error }).CloseWrite()
			case "RST":
				if tcp, ok := peer.(*net.TCPConn); ok {
					tcp.SetLinger(0)
				}
				peer.Close()
			}
			if err := h.Park(); err != nil {
				t.Fatal(err)
			}
			select {
			case <-woken:
			case <-time.After(lost):
				t.Fatalf("%s: lost wake", what)
			}
			h.Close()
			if err := h.Park(); err != ErrClosed {
				t.Errorf("Park after Close: %v", err)
			}
		}
	})
}

// A closed connection can't be parked; the caller learns that it still is the
// reader, and nothing stays registered.
func TestSocketClosedBeforePark(t *testing.T) {
	forEachNetwork(t, func(t *testing.T, l listener) {
		self, _ := l.pair(t)
		s := newSockConn(t, self)
		self.Close()
		if err := s.Park(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Park: %v", err)
		}
		if got := ReadStats(); got != (Stats{}) {
			t.Errorf("stats: %+v", got)
		}
	})
}

// Somebody who kept the socket closes it below a parked connection: the kernel says
// nothing, the walk finds it.
func TestSocketClosedWhileParked(t *testing.T) {
	setPace := func(pace time.Duration) {
		process.mu.Lock()
		defer process.mu.Unlock()
		process.pace = pace
	}
	setPace(10 * time.Millisecond)
	t.Cleanup(func() { setPace(walkPace) })
	forEachNetwork(t, func(t *testing.T, l listener) {
		self, _ := l.pair(t)
		s := newSockConn(t, self)
		s.reader(false)
		if !s.Parked() {
			t.Fatal("not parked")
		}
		self.Close()
		s.awaitGone(t)
		if got := ReadStats(); got != (Stats{}) {
			t.Errorf("stats: %+v", got)
		}
	})
}

// A regular file can't be waited for, and says so.
func TestFileDoesNotPark(t *testing.T) {
	needsPoller(t)
	f, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rc, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var h Handle
	h.Init(owned{rc, make(wakeChan, 1)})
	if err := h.Park(); err == nil {
		t.Error("a file was parked")
	}
	h.Close()
}

// TestSocketModel lets everything that can happen to a connection happen to a
// thousand of them, from several goroutines each and at random.
func TestSocketModel(t *testing.T) {
	forEachNetwork(t, func(t *testing.T, l listener) {
		conns, rounds := 500, 20
		if testing.Short() {
			conns = 100
		}
		var wg sync.WaitGroup
		for i := range conns {
			self, peer := l.pair(t)
			s := newSockConn(t, self)
			wg.Go(func() { s.reader(false) })
			wg.Go(func() { s.live(t, peer, rand.New(rand.NewPCG(uint64(i), 3)), rounds) })
		}
		wg.Wait()
		if got := ReadStats(); got != (Stats{}) {
			t.Errorf("stats after the last close: %+v", got)
		}
	})
}

// live drives one connection to its end.
func (s *sockConn) live(t *testing.T, peer net.Conn, rng *rand.Rand, rounds int) {
	var kicks sync.WaitGroup
	sent := int64(0)
	for range rounds {
		switch rng.IntN(6) {
		case 0, 1, 2:
			n, _ := peer.Write(make([]byte, 1+rng.IntN(600)))
			sent += int64(n)
			if rng.IntN(2) == 0 && !s.await(t, sent) {
				return
			}
		case 3: // a new stream, a writer
			kicks.Go(s.kick)
		case 4: // a deadline, or the sweeper
			kicks.Go(func() {
				s.c.SetReadDeadline(time.Unix(1, 0))
				s.kick()
			})
		case 5:
			s.kick()
		}
	}
	whole := false
	switch rng.IntN(4) {
	case 0:
		peer.Close()
		whole = true
	case 1:
		if tcp, ok := peer.(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
		peer.Close()
	case 2:
		kicks.Go(s.close)
		kicks.Go(s.close)
	case 3:
		kicks.Go(s.close)
		peer.Close()
	}
	s.awaitGone(t)
	kicks.Wait()
	s.kick()
	if got := s.got.Load(); whole && got != sent {
		t.Errorf("read %d bytes of %d", got, sent)
	}
}

// manyNetwork is the network for many connections: unix sockets, of which there is no limit
// but that of descriptors, where they are sure to be there.
func manyNetwork() string {
	if runtime.GOOS == "windows" {
		return "tcp"
	}
	return "unix"
}

// A thousand parked connections, woken all at once, more than a batch.
func TestThousandParked(t *testing.T) {
	needsPoller(t)
	leakcheck.Check(t)
	l := on(t, manyNetwork())
	var conns []*sockConn
	var peers []net.Conn
	for range 1000 {
		self, peer := l.pair(t)
		s := newSockConn(t, self)
		s.reader(false)
		conns, peers = append(conns, s), append(peers, peer)
	}
	if got, want := ReadStats(), (Stats{Parked: 1000, Registered: 1000}); got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
	for _, p := range peers {
		p.Write([]byte("x"))
	}
	for _, s := range conns {
		if !s.await(t, 1) {
			break
		}
	}
	for _, s := range conns {
		s.close()
		s.awaitGone(t)
	}
	if got := ReadStats(); got != (Stats{}) {
		t.Errorf("stats after the last close: %+v", got)
	}
}

// A duplicate keeps a closed connection's registration alive in the kernel. Its
// events must not reach the connection that has its number and its slot now.
func TestDuplicatedDescriptor(t *testing.T) {
	needsPoller(t)
	leakcheck.Check(t)
	l := on(t, "unix")
	keepSelf, _ := l.pair(t)
	keep := newSockConn(t, keepSelf) // holds the poller
	keep.reader(false)
	oldSelf, oldPeer := l.pair(t)
	old := newSockConn(t, oldSelf)
	old.reader(false)
	slot := old.slot
	dup, err := oldSelf.(*net.UnixConn).File()
	if err != nil {
		t.Fatal(err)
	}
	defer dup.Close()
	oldSelf.Close() // first, so that Close can't take the registration out
	old.close()
	old.awaitGone(t)

	self, peer := l.pair(t)
	s := newSockConn(t, self)
	s.reader(false)
	if s.slot != slot {
		t.Fatalf("slot %d was not reused: this tests nothing", slot)
	}
	for i := range int64(10) {
		oldPeer.Write([]byte("old"))
		peer.Write([]byte("x"))
		if !s.await(t, i+1) {
			break
		}
	}
	if n := s.dry.Load(); n != 0 {
		t.Errorf("woken %d times for nothing", n)
	}
	s.close()
	s.awaitGone(t)
	keep.close()
}

// One small message, read by a reader that was parked and by one that was
// blocked in a read.
func BenchmarkWake(b *testing.B) {
	needsPoller(b)
	b.Run("parked", func(b *testing.B) {
		self, peer := on(b, "tcp").pair(b)
		s := newSockConn(b, self)
		s.reader(false)
		b.ReportAllocs()
		p := []byte("x")
		for n := int64(1); b.Loop(); n++ {
			peer.Write(p)
			s.await(b, n)
			for !s.Parked() { // the next wake is to come from the poller
				runtime.Gosched()
			}
		}
		s.close()
		s.awaitGone(b)
	})
	b.Run("blocked", func(b *testing.B) {
		self, peer := on(b, "tcp").pair(b)
		read := make(chan struct{}, 1)
		go func() {
			p := make([]byte, 256)
			for {
				if _, err := self.Read(p); err != nil {
					return
				}
				read <- struct{}{}
			}
		}()
		b.ReportAllocs()
		p := []byte("x")
		for b.Loop() {
			peer.Write(p)
			<-read
		}
	})
}

// What a step of the walk costs with ten thousand parked connections, and one look.
func BenchmarkWalk(b *testing.B) {
	needsPoller(b)
	const conns, files = 10_000, 2000
	l := on(b, "unix")
	s := &set{open: newBackend} // without the timer
	rcs := make([]syscall.RawConn, files)
	for i := range rcs {
		self, _ := l.pair(b)
		rcs[i], _ = self.(syscall.Conn).SyscallConn()
	}
	// More than the system may allow descriptors: of the others only one is told to
	// the kernel, and each has its own memory to be looked at.
	hs := make([]*Handle, conns)
	for i := range hs {
		hs[i] = new(Handle)
		hs[i].init(s, owned{rcs[i%files], make(wakeChan, 1)})
		if err := hs[i].Park(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		s.p.Load().step()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(share(conns)), "ns/look")
	for _, h := range hs {
		h.Close()
	}
}
