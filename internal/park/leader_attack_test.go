// SPDX-License-Identifier: Apache-2.0

//go:build unix

package park

import (
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/pulse"
)

// chained is a connection whose reader, once it has read, does what it is told before it parks.
type chained struct {
	h    Handle
	rc   syscall.RawConn
	c    net.Conn
	got  atomic.Int64
	then func()
}

func (c *chained) RawConn() syscall.RawConn { return c.rc }
func (c *chained) Wake()                    { go c.Run() }

func (c *chained) Run() {
	var p [64]byte
	for {
		n := 0
		var err error
		if c.rc.Read(func(fd uintptr) bool { n, err = readNow(fd, p[:]); return true }) != nil {
			c.h.Close()
			return
		}
		if n > 0 {
			c.got.Add(int64(n))
			if c.then != nil {
				c.then()
			}
			continue
		}
		if err == nil {
			c.h.Close()
			return
		}
		switch c.h.Park() {
		case nil, ErrClosed:
			return
		}
	}
}

func chain(t *testing.T, l listener, n int) (all []*chained, peers []net.Conn) {
	for range n {
		self, peer := l.pair(t)
		rc, _ := self.(syscall.Conn).SyscallConn()
		c := &chained{rc: rc, c: self}
		c.h.Init(c)
		all, peers = append(all, c), append(peers, peer)
	}
	return all, peers
}

// Each reader blocks until the next connection's reader has read: nobody may hold an event in
// hand that another waits for. The goroutines are no more than those who wait, and they go.
func TestAttackHandlersWaitForEachOther(t *testing.T) {
	needsPoller(t)
	for _, procs := range []int{1, 2, 8} {
		t.Run(fmt.Sprint(procs), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			leakcheck.Check(t)
			const n, rounds = 150, 60
			all, peers := chain(t, on(t, manyNetwork()), n)
			var next atomic.Pointer[[]chan struct{}]
			var wg sync.WaitGroup
			order := rand.New(rand.NewPCG(1, uint64(procs)))
			place := make([]atomic.Int32, n)
			for i, c := range all {
				c.then = func() {
					at := int(place[i].Load())
					l := *next.Load()
					close(l[at])
					if at+1 < n {
						<-l[at+1]
					}
					wg.Done()
				}
				go c.Run()
			}
			base, most, pulsed := runtime.NumGoroutine(), 0, 0
			for round := range rounds {
				l := make([]chan struct{}, n)
				for i, at := range order.Perm(n) {
					place[i].Store(int32(at))
					l[i] = make(chan struct{})
				}
				next.Store(&l)
				wg.Add(n)
				if round%2 == 0 {
					for i := 0; !pulse.On() && i < 100; i++ {
						pulse.Event()
					}
				}
				if pulse.On() {
					pulsed++
				}
				for i := range peers {
					peers[i].Write([]byte("x"))
				}
				done := make(chan struct{})
				go func() { wg.Wait(); close(done) }()
				select {
				case <-done:
				case <-time.After(lost):
					buf := make([]byte, 1<<16)
					t.Fatalf("round %d hangs\n%s", round, buf[:runtime.Stack(buf, true)])
				}
				most = max(most, runtime.NumGoroutine())
			}
			for _, c := range all {
				c.h.Close()
				c.c.Close()
			}
			t.Logf("base %d, most %d goroutines, pulse on in %d of %d", base, most, pulsed, rounds)
		})
	}
}

// One connection always has input, and others answer pings meanwhile.
func TestAttackConstantInput(t *testing.T) {
	needsPoller(t)
	for _, procs := range []int{1, 2, 8} {
		t.Run(fmt.Sprint(procs), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			leakcheck.Check(t)
			const hogs, n = 3, 20
			all, peers := chain(t, on(t, manyNetwork()), n)
			stop := make(chan struct{})
			var wg sync.WaitGroup
			for i, c := range all {
				switch {
				case i < hogs:
					c.then = func() { spin(maxInline / 20) }
					wg.Go(func() {
						for {
							select {
							case <-stop:
								return
							default:
								peers[i].SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
								peers[i].Write([]byte("xxxx"))
							}
						}
					})
				default:
					c.then = func() { c.c.Write([]byte("y")) }
				}
				go c.Run()
			}
			worst := time.Duration(0)
			var sum time.Duration
			const pings = 300
			for k := range pings {
				i := hogs + k%(n-hogs)
				var b [1]byte
				began := time.Now()
				peers[i].SetReadDeadline(began.Add(lost))
				peers[i].Write([]byte("x"))
				if _, err := peers[i].Read(b[:]); err != nil {
					t.Fatal(k, err)
				}
				d := time.Since(began)
				worst, sum = max(worst, d), sum+d
			}
			close(stop)
			wg.Wait()
			t.Logf("on average %v, at worst %v", sum/pings, worst)
			for _, c := range all {
				c.h.Close()
				c.c.Close()
			}
		})
	}
}

// Connections are closed, and the poller with the last, while others of them are read.
func TestAttackCloseWhileReading(t *testing.T) {
	needsPoller(t)
	leakcheck.Check(t)
	l := on(t, manyNetwork())
	for range 150 {
		all, peers := chain(t, l, 12)
		for _, c := range all {
			go c.Run()
		}
		var wg sync.WaitGroup
		for i := range all {
			wg.Go(func() {
				for range 5 {
					pulse.Event()
					peers[i].Write([]byte("x"))
					runtime.Gosched()
				}
				all[i].h.Close()
				all[i].c.Close()
				peers[i].Close()
			})
		}
		wg.Wait()
	}
	if got := ReadStats(); got != (Stats{}) {
		t.Errorf("%+v", got)
	}
}

// Who is read by a goroutine of the poller closes all connections there are, itself too, and so ends
// the poller that it runs on.
func TestAttackCloseFromWithin(t *testing.T) {
	needsPoller(t)
	leakcheck.Check(t)
	l := on(t, manyNetwork())
	for range 100 {
		all, peers := chain(t, l, 6)
		var wg sync.WaitGroup
		wg.Add(1)
		var once sync.Once
		for _, c := range all {
			c.then = func() {
				for _, o := range all {
					if o.h.Close() {
						o.Wake()
					}
				}
				once.Do(wg.Done)
			}
			go c.Run()
		}
		for range 8 {
			pulse.Event()
		}
		for i := range peers {
			peers[i].Write([]byte("x"))
		}
		wg.Wait()
		for i, c := range all {
			c.c.Close()
			peers[i].Close()
		}
	}
	if got := ReadStats(); got != (Stats{}) {
		t.Errorf("%+v", got)
	}
}
