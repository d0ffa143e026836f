// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"fmt"
	"slices"
	"testing"
	"time"
	"unsafe"
)

// path is a sender that never runs out of data, a bottleneck with a queue, and a
// receiver that consumes at once, in steps of a millisecond.
type path struct {
	rate    uint32 // bytes per millisecond through the bottleneck
	delay   int    // milliseconds one way
	offered uint32 // bytes per millisecond that the application has; 0 is all
	bdp     BDP
	out     Outflow
	in      Inflow

	queue     uint64         // bytes before the bottleneck
	arrivals  map[int]uint32 // bytes at the receiver, by time
	grants    map[int]uint32 // increments at the sender
	pings     map[int]bool   // at the sender
	acks      map[int]bool   // at the receiver
	pingCount int
	received  uint64
}

func newPath(rate uint32, delay int) *path {
	return &path{
		rate: rate, delay: delay,
		bdp: newBDP(0), out: newOutflow(InitialBDPWindow), in: newInflow(InitialBDPWindow),
		arrivals: map[int]uint32{}, grants: map[int]uint32{}, pings: map[int]bool{}, acks: map[int]bool{},
	}
}

func (p *path) run(t *testing.T, from, to int) {
	t.Helper()
	conn := newOutflow(MaxWindow)
	for ms := from; ms < to; ms++ {
		now := time.Duration(ms) * time.Millisecond
		p.sender(t, ms, &conn)
		through := uint32(min(p.queue, uint64(p.rate)))
		p.queue -= uint64(through)
		p.arrivals[ms+p.delay] = through
		p.receiver(t, ms, now)
	}
}

func (p *path) sender(t *testing.T, ms int, conn *Outflow) {
	t.Helper()
	if err := p.out.Add(p.grants[ms]); err != nil {
		t.Fatal(err)
	}
	n := p.out.Available(conn)
	if p.offered > 0 {
		n = min(n, p.offered)
	}
	if p.out.Take(conn, n) != nil || conn.Add(n) != nil {
		t.Fatal("the sender's windows are broken")
	}
	p.queue += uint64(n)
	if p.pings[ms] { // the answer waits behind the data
		p.acks[ms+int(p.queue/uint64(p.rate))+p.delay] = true
	}
}

func (p *path) receiver(t *testing.T, ms int, now time.Duration) {
	t.Helper()
	var increment uint32
	if n := p.arrivals[ms]; n > 0 {
		if err := p.in.Receive(n); err != nil {
			t.Fatal(err)
		}
		p.received += uint64(n)
		ping, window := p.bdp.Received(n, now)
		if ping {
			p.pings[ms+p.delay] = true
			p.pingCount++
		}
		if increment = p.in.Consume(n); window > 0 {
			increment += p.in.SetTarget(window)
		}
	}
	if p.acks[ms] {
		if w, grown := p.bdp.Acked(now); grown {
			increment += p.in.SetTarget(w)
		}
	}
	p.grants[ms+p.delay] += increment
	delete(p.arrivals, ms)
}

// TestWindowsGrowUntilThePipeIsFull: with the first window a path of 100 ms
// carries 640 KB a second, whatever its bandwidth.
func TestWindowsGrowUntilThePipeIsFull(t *testing.T) {
	tests := []struct {
		name  string
		rate  uint32 // bytes per millisecond
		delay int
	}{
		{"100 ms, 10 MB/s", 10_000, 50},
		{"100 ms, 100 MB/s", 100_000, 50},
		{"20 ms, 100 MB/s", 100_000, 10},
		{"300 ms, 5 MB/s", 5_000, 150},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPath(tt.rate, tt.delay)
			p.run(t, 0, 5000)
			before := p.received
			p.run(t, 5000, 6000)
			if got, full := p.received-before, uint64(tt.rate)*1000; got < full/100*95 {
				t.Errorf("%d bytes a second of %d after 5 s; window %d", got, full, p.bdp.Window())
			}
			product := tt.rate * uint32(2*tt.delay)
			if w := p.bdp.Window(); w > max(8*product, leastFarWindow) || w > MaxBDPWindow {
				t.Errorf("window %d for a product of %d", w, product)
			}
		})
	}
}

// TestWindowsStopWhenThePipeIsFull: a sender that fills every window would fill
// them in a queue just as well.
func TestWindowsStopWhenThePipeIsFull(t *testing.T) {
	p := newPath(1_000, 20) // a product of 40 KB: even the first window is too much
	p.run(t, 0, 9000)
	if w := p.bdp.Window(); w > leastFarWindow {
		t.Errorf("window %d for a product of 40 KB", w)
	}
	// Half windows are 8 s * 1 MB / 32 KB, about 280; pings space out.
	if p.pingCount > 60 {
		t.Errorf("%d pings in 9 s", p.pingCount)
	}
}

func TestWindowsFollowTheApplication(t *testing.T) {
	p := newPath(100_000, 50)
	p.offered = 300 // 30 KB a round trip, less than half of the first window
	p.run(t, 0, 5000)
	if w := p.bdp.Window(); w > leastFarWindow {
		t.Errorf("window %d, though 30,000 bytes come in a round trip", w)
	}
	p.offered = 0
	p.run(t, 5000, 10_000)
	before := p.received
	p.run(t, 10_000, 11_000)
	if got := p.received - before; got < 95_000_000 {
		t.Errorf("%d bytes a second of 100 MB when it had more to send; window %d", got, p.bdp.Window())
	}
}

func TestBDPPings(t *testing.T) {
	start := 1000 * time.Second
	at := func(d time.Duration) time.Duration { return start + d }
	half := uint32(InitialBDPWindow / 2)

	t.Run("never for little", func(t *testing.T) {
		b := newBDP(0)
		for i := range uint32(InitialBDPWindow/firstSample - 1) {
			if pings(b.Received(1, at(time.Duration(i)*time.Second))) {
				t.Fatalf("ping after %d bytes", i+1)
			}
		}
		if !pings(b.Received(1, at(time.Hour))) {
			t.Error("no ping after an eighth of a window")
		}
	})
	t.Run("one at a time", func(t *testing.T) {
		b := newBDP(0)
		b.Received(half, start)
		for range 10 {
			if pings(b.Received(half, start)) {
				t.Fatal("second ping before the first was answered")
			}
		}
	})
	t.Run("unasked answer", func(t *testing.T) {
		b := newBDP(0)
		if w, grown := b.Acked(start); grown || w != 0 {
			t.Errorf("got %d, %t", w, grown)
		}
	})
	t.Run("clock without progress", func(t *testing.T) {
		b := newBDP(0)
		b.Received(half, start)
		b.Received(2*half, start)
		if w, grown := b.Acked(start); grown || w != InitialBDPWindow {
			t.Errorf("got %d, %t", w, grown)
		}
		if !pings(b.Received(maxUnchangedBytes*half, at(time.Hour))) {
			t.Error("no more PINGs")
		}
	})
	t.Run("ends at the most", func(t *testing.T) {
		b := newBDP(MaxBDPWindow - 1)
		b.Received(MaxBDPWindow, start)
		b.Received(MaxBDPWindow, start)
		if w, grown := b.Acked(at(time.Millisecond)); !grown || w != MaxBDPWindow {
			t.Errorf("got %d, %t", w, grown)
		}
		if pings(b.Received(1<<32-1, at(time.Second))) {
			t.Error("ping, though the window cannot grow")
		}
	})
	t.Run("the zero value stays quiet", func(t *testing.T) {
		var b BDP
		if pings(b.Received(1<<20, start)) {
			t.Error("ping from an estimator that was not set up")
		}
	})
}

// TestBDPUnchanged: what comes in small lots, and never fills a window, is sampled less and less
// often, also across rests.
func TestBDPUnchanged(t *testing.T) {
	w := NewWindows(InitialBDPWindow)
	now := 1000 * time.Second
	count := func(lots int, rest bool) (n int) {
		for range lots {
			for range 10 {
				if pings(w.Sample(InitialBDPWindow/10, now)) {
					now += time.Microsecond
					w.Answered(now + 100*time.Microsecond)
					n++
				}
			}
			now += 100 * time.Millisecond
			if rest {
				w.Rest()
			}
		}
		return n
	}
	if n := count(100, false); n > 30 {
		t.Errorf("%d pings for 100 windows", n)
	}
	if n := count(100, true); n > 100/8+1 {
		t.Errorf("%d pings for 100 windows with rests between", n)
	}
	if n := count(100, false); n < 5 {
		t.Errorf("%d pings for the next 100 windows", n)
	}
}

// TestBDPUnchangedWhereWindowsMatter: samples that change nothing hold little up on a far path, and silences nothing.
func TestBDPUnchangedWhereWindowsMatter(t *testing.T) {
	const trip = 100 * time.Millisecond
	b := newBDP(0)
	now := 1000 * time.Second
	sent := 0
	const lot, trips = leastFarWindow / farLead, 40
	for range trips {
		if pings(b.Received(lot, now)) {
			sent++
			now += trip
			b.Acked(now) // nothing came meanwhile
			continue
		}
		now += trip
	}
	if w := b.Window(); w > leastFarWindow {
		t.Errorf("a window of %d bytes, where %d come in a round trip", w, lot)
	}
	if sent < trips/(farPause+1) || sent > trips/farPause+1 {
		t.Errorf("%d pings in %d round trips", sent, trips)
	}
	if !b.Lasts() {
		t.Error("a silence would end it")
	}
}

// TestBDPBurstBeginsWithPing: where large messages come with silences between, each silence ends with a
// PING, whatever the size of the window; small ones in between have none.
func TestBDPBurstBeginsWithPing(t *testing.T) {
	const trip, frame = 100 * time.Millisecond, 16 << 10
	for _, window := range []uint32{4 << 20, MaxBDPWindow} {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			b := newBDP(window)
			now := 1000 * time.Second
			burst := func() (pings []int) {
				for i := range int(window) / farLead / frame {
					if ping, _ := b.Received(frame, now); ping {
						pings = append(pings, i)
					}
				}
				now += trip
				b.Acked(now)
				now += 5 * trip
				return pings
			}
			b.short, b.shortAt = inMicros(trip), inTicks(now) // it is known to be far
			burst()
			for i := range 5 {
				if pings := burst(); !slices.Equal(pings, []int{0}) {
					t.Fatalf("burst %d has a PING at frames %v, want at the first alone", i, pings)
				}
			}
			burst()
			for i := range 5 {
				ping, _ := b.Received(100, now)
				if now += 5 * trip; ping != (i == 0) {
					t.Errorf("small message %d: a PING %v", i, ping)
				}
				b.Acked(now)
			}
		})
	}
}

// TestBDPForgetsAnOldPath: the best rate of a short path is out of reach on a
// long one, until the window is larger.
func TestBDPForgetsAnOldPath(t *testing.T) {
	b := newBDP(0)
	now := 1000 * time.Second
	sample := func(rtt time.Duration) bool {
		for !pings(b.Received(b.Window()/2, now)) {
			now += rtt / 2
		}
		b.Received(b.Window(), now)
		now += rtt
		_, grown := b.Acked(now)
		return grown
	}
	if !sample(time.Millisecond) {
		t.Fatal("no growth at the first full window")
	}
	for range 3 {
		sample(200 * time.Millisecond) // what the short path left behind
	}
	for end := now + 12*time.Second; now < end; {
		if sample(200 * time.Millisecond) {
			return
		}
	}
	t.Error("no growth in 12 s on the new path")
}

func TestBDPDoesNotAllocate(t *testing.T) {
	b := newBDP(0)
	now := 1000 * time.Second
	if got := testing.AllocsPerRun(100, func() {
		if pings(b.Received(1<<20, now)) {
			b.Acked(now)
		}
	}); got != 0 {
		t.Errorf("%v allocations, want none", got)
	}
}

// What is learnt of a far path is kept as long as the connection: it has to be small.
func TestBDPSize(t *testing.T) {
	if n := unsafe.Sizeof(BDP{}); n > 32 {
		t.Errorf("%d bytes", n)
	}
}
