// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// farPath is a TCP connection over a path, with a stream of messages on it: TCP doubles what is under
// way in each round trip, from ten segments up to what the path or its buffers hold. The receiver's
// windows are as h2 has them: they are given back as whole messages are taken, and they rest in each
// silence. Time goes in steps, of which a round trip has many.
type farPath struct {
	rate    float64 // bytes a second
	trip    time.Duration
	loss    float64 // of segments
	message uint32  // bytes
	parks   bool    // at each silence
	free    bool    // windows do not limit
	pause   int     // the sender has nothing to send in each second lot of so many round trips
	rng     *rand.Rand

	// TCP's.
	cwnd, inFlight, queue float64
	stalled               int // steps until what was lost has been sent again
	acked                 map[int]float64
	arrivals              map[int]uint32 // by step

	// The sender's.
	out, conn        Outflow
	unsent           uint32 // written to the socket
	written, through uint64 // bytes written, and sent by TCP, so far
	pongs            []uint64
	obeyed           []uint64 // SETTINGS, with what was written before

	// The receiver's.
	w        Windows
	in       Inflow
	partial  uint32 // of a message
	grants   map[int][]func() error
	pings    map[int]int
	answers  map[int]int
	acks     map[int]int // of SETTINGS that lower
	held     uint32      // bytes that TCP keeps behind a hole
	received uint64
	sent     int // PINGs
	lowered  int // windows

	// When the step from began, before which another path was.
	from  int
	began time.Duration
}

const (
	stepsATrip = 64
	segment    = 1460
	tcpMost    = 8 << 20 // of socket buffers
)

func newFarPath(rate float64, trip time.Duration) *farPath {
	p := &farPath{
		rate: rate, trip: trip, message: 64<<10 + 13, parks: true, rng: rand.New(rand.NewPCG(1, 2)),
		cwnd: 10 * segment, acked: map[int]float64{}, arrivals: map[int]uint32{},
		conn: newOutflow(DefaultWindow), w: NewWindows(DefaultWindow),
		grants: map[int][]func() error{}, pings: map[int]int{}, answers: map[int]int{}, acks: map[int]int{},
	}
	p.in, _ = p.w.Stream()
	p.out = newOutflow(DefaultWindow)
	return p
}

func (p *farPath) product() float64 { return p.rate * p.trip.Seconds() }

// run goes on for so many round trips, from the one that begins with step from.
func (p *farPath) run(from, trips int) (next int, err error) {
	next = from + trips*stepsATrip
	for i := from; i < next; i++ {
		if err := p.send(i); err != nil {
			return i, fmt.Errorf("the sender, round trip %d: %w", i/stepsATrip, err)
		}
		if err := p.receive(i); err != nil {
			return i, fmt.Errorf("the receiver, round trip %d: %w", i/stepsATrip, err)
		}
	}
	return next, nil
}

func (p *farPath) at(i int) time.Duration {
	return time.Hour + p.began + time.Duration(i-p.from)*p.trip/stepsATrip
}

// become changes the path at a step. TCP learns of that at once, and what it had sent goes first.
func (p *farPath) become(rate float64, trip time.Duration, i int) {
	p.began, p.from = p.at(i)-time.Hour, i
	p.rate, p.trip = rate, trip
	p.cwnd = min(p.cwnd, 2*p.product()+20*segment)
}

func (p *farPath) send(i int) error {
	for _, grant := range p.grants[i] {
		if err := grant(); err != nil {
			return err
		}
	}
	delete(p.grants, i)
	p.inFlight -= p.acked[i]
	if most := min(2*p.product()+20*segment, tcpMost); p.cwnd < most {
		p.cwnd = min(p.cwnd+p.acked[i], most)
	}
	delete(p.acked, i)
	for range p.pings[i] {
		p.pongs = append(p.pongs, p.written)
	}
	delete(p.pings, i)
	if err := p.write(i); err != nil {
		return err
	}
	n := min(float64(p.unsent), max(p.cwnd-p.inFlight, 0))
	p.unsent -= uint32(n)
	p.inFlight += float64(uint32(n))
	p.queue += float64(uint32(n))
	p.carry(i)
	return nil
}

// write fills the socket's buffer, which is twice what is under way.
func (p *farPath) write(i int) error {
	if p.pause > 0 && i/stepsATrip/p.pause%2 == 1 {
		return nil
	}
	n := uint32(max(2*p.cwnd-p.inFlight-float64(p.unsent), 0))
	if !p.free {
		if n = min(n, p.out.Available(&p.conn)); n > 0 {
			if err := p.out.Take(&p.conn, n); err != nil {
				return err
			}
		}
	}
	p.unsent += n
	p.written += uint64(n)
	return nil
}

// carry moves a step's worth through the path.
func (p *farPath) carry(i int) {
	n := uint32(min(p.queue, p.rate*p.trip.Seconds()/stepsATrip+1))
	p.queue -= float64(n)
	p.through += uint64(n)
	arrive := i + stepsATrip/2
	if n > 0 {
		p.arrivals[arrive] += n
		p.acked[i+stepsATrip] += float64(n)
		if p.rng.Float64() < p.loss*float64(n)/segment {
			p.stalled = arrive + stepsATrip
			p.cwnd = max(p.cwnd*0.7, 10*segment)
		}
	}
	for len(p.pongs) > 0 && p.pongs[0] <= p.through {
		p.answers[max(arrive, p.stalled)]++
		p.pongs = p.pongs[1:]
	}
	for len(p.obeyed) > 0 && p.obeyed[0] <= p.through {
		p.acks[max(arrive, p.stalled)]++
		p.obeyed = p.obeyed[1:]
	}
}

func (p *farPath) receive(i int) error {
	p.held += p.arrivals[i]
	n := p.held
	if i < p.stalled && i >= p.stalled-stepsATrip {
		n = 0 // behind a hole
	}
	delete(p.arrivals, i)
	p.held -= n
	now := p.at(i)
	for n > 0 {
		k := min(n, 16384)
		n -= k
		if err := p.data(i, k, now); err != nil {
			return err
		}
	}
	for range p.answers[i] {
		if size, grown := p.w.Answered(now); grown {
			p.grow(i, size)
		}
	}
	delete(p.answers, i)
	for range p.acks[i] {
		if err := p.lowerAcked(i); err != nil {
			return err
		}
	}
	delete(p.acks, i)
	if p.parks && p.held == 0 {
		p.w.Rest()
	}
	return nil
}

func (p *farPath) data(i int, n uint32, now time.Duration) error {
	p.received += uint64(n)
	if p.free {
		return nil
	}
	inc, err := p.w.Arrived(n)
	if err != nil {
		return err
	}
	if inc > 0 {
		p.grantConn(i, inc+p.w.Widen(1<<20))
	}
	ping, size := p.w.Sample(n, now)
	if ping {
		p.sent++
		p.pings[i+stepsATrip/2]++
	}
	if size > 0 {
		p.grow(i, size)
	}
	if err := p.in.Receive(n); err != nil {
		return err
	}
	for p.partial += n; p.partial >= p.message; p.partial -= p.message {
		p.grant(i, p.in.Consume(p.message))
	}
	p.grant(i, p.in.Expect(p.message-p.partial))
	return nil
}

func (p *farPath) later(i int, f func() error) {
	at := i + stepsATrip/2
	p.grants[at] = append(p.grants[at], f)
}

func (p *farPath) grant(i int, inc uint32) {
	if inc > 0 {
		p.later(i, func() error { return p.out.Add(inc) })
	}
}

func (p *farPath) grantConn(i int, inc uint32) {
	if inc > 0 {
		p.later(i, func() error { return p.conn.Add(inc) })
	}
}

func (p *farPath) grow(i int, n uint32) {
	before := int64(p.w.Announced())
	if n < p.w.Announced() {
		p.lower(i, max(n, DefaultWindow))
		return
	}
	inc, grown := p.w.Grow(n, n, slices.Values([]*Inflow{&p.in}))
	if !grown {
		return
	}
	delta := int64(p.w.Announced()) - before
	p.later(i, func() error { _, _ = p.w.SettingsAcked(); return p.out.AdjustInitial(delta) })
	p.grantConn(i, inc)
}

func (p *farPath) lower(i int, n uint32) {
	delta := int64(n) - int64(p.w.Announced())
	p.w.Lower(n)
	p.lowered++
	p.later(i, func() error {
		p.obeyed = append(p.obeyed, p.written)
		return p.out.AdjustInitial(delta)
	})
}

// lowerAcked follows the acknowledgement of SETTINGS that lower.
func (p *farPath) lowerAcked(i int) error {
	delta, ok := p.w.SettingsAcked()
	if !ok || delta == 0 {
		return nil
	}
	if err := p.in.AdjustInitial(delta); err != nil {
		return err
	}
	p.grant(i, p.in.Consume(0))
	return nil
}

// check compares what came in so many round trips with what comes without windows in late fewer: it
// must be no less than a part of that.
func (p *farPath) check(trips, late int, part float64) error {
	free := newFarPath(p.rate, p.trip)
	free.loss, free.message, free.pause, free.free = p.loss, p.message, p.pause, true
	if _, err := p.run(0, trips); err != nil {
		return err
	}
	if _, err := free.run(0, trips-late); err != nil {
		return err
	}
	if p.product()*farLead > MaxBDPWindow {
		part = min(part, 0.65) // the largest window is less than a lossy path of that size can use
	}
	if want := uint64(part * float64(free.received)); p.received < want {
		return fmt.Errorf("%d bytes in %d round trips, without windows %d in %d less; window %d", p.received, trips, free.received, late, p.w.Announced())
	}
	if w, most := float64(p.w.Announced()), 10*shortLead*(p.product()+p.rate*schedulingTrip.Seconds())+leastFarWindow; w > most {
		return fmt.Errorf("a window of %.0f for a product of %.0f", w, p.product())
	}
	if p.sent > trips {
		return fmt.Errorf("%d pings in %d round trips", p.sent, trips)
	}
	return nil
}

// lateness is how many round trips the windows may be behind TCP. On a short path a PING takes less
// time than the next half of a window.
func lateness(trip time.Duration) int {
	if trip <= farTrip {
		return 20
	}
	return 3
}

// Over any path the windows are no limit: as much comes as with windows without bounds, at most
// three round trips later; and they are no larger than they need to be.
func TestPaths(t *testing.T) {
	trips := []time.Duration{100 * time.Microsecond, time.Millisecond, 12 * time.Millisecond, 20 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond, 2 * time.Second}
	for _, trip := range trips {
		for _, rate := range []float64{64 << 10, 1.25e6, 12.5e6, 125e6, 1.25e9} {
			for _, loss := range []float64{0, 0.001, 0.01} {
				for _, message := range []uint32{1000, 64<<10 + 13, 3 << 20} {
					p := newFarPath(rate, trip)
					p.loss, p.message = loss, message
					if err := p.check(60, lateness(trip), 0.9); err != nil {
						t.Errorf("%v, %g MB/s, loss %g, messages of %d: %v", trip, rate/1e6, loss, message, err)
					}
				}
			}
		}
	}
}

// TestPathsWithPauses: what was learnt outlives phases in which the application sends nothing, so that
// the first message after one is as fast as TCP lets it be.
func TestPathsWithPauses(t *testing.T) {
	for _, trip := range []time.Duration{20 * time.Millisecond, 200 * time.Millisecond} {
		p := newFarPath(25e6, trip)
		p.pause = 10
		if err := p.check(80, 3, 0.9); err != nil {
			t.Errorf("%v: %v", trip, err)
		}
	}
}

// TestPathsThatBecomeShort: a window that a far path needed is given back where the path has become short, and
// the short path is as fast as any.
func TestPathsThatBecomeShort(t *testing.T) {
	for _, far := range []time.Duration{50 * time.Millisecond, 300 * time.Millisecond} {
		for _, short := range []time.Duration{200 * time.Microsecond, time.Millisecond} {
			for _, rate := range []float64{12.5e6, 125e6} {
				for _, loss := range []float64{0, 0.001} {
					p := newFarPath(rate, far)
					p.loss = loss
					if err := p.becomesShort(rate, short); err != nil {
						t.Errorf("%v, then %v, %g MB/s, loss %g: %v", far, short, rate/1e6, loss, err)
					}
				}
			}
		}
	}
}

// becomesShort has the path change after it was far for long enough to have windows.
func (p *farPath) becomesShort(rate float64, trip time.Duration) error {
	next, err := p.run(0, 40)
	if err != nil {
		return err
	}
	before := p.w.Announced()
	p.become(rate, trip, next)
	waiting := (p.queue + float64(p.unsent)) / p.product()
	pause := farPause * time.Second / 3 // of the far path's, until the next PING
	if next, err = p.run(next, 100+int(2*waiting)+int(pause/trip)); err != nil {
		return err
	}
	received := p.received
	if _, err := p.run(next, 100); err != nil {
		return err
	}
	most := max(10*shortLead*(p.product()+rate*schedulingTrip.Seconds()), leastFarWindow)
	if w := float64(p.w.Announced()); w > most || p.lowered > 1 {
		return fmt.Errorf("a window of %.0f for a product of %.0f, %d before; lowered %d times", w, p.product(), before, p.lowered)
	}
	part := 0.9
	if p.loss > 0 {
		part = 0.4 // TCP's own share of that
	}
	if got, want := float64(p.received-received), part*100*p.product(); got < want {
		return fmt.Errorf("%.0f bytes in 100 round trips, want %.0f", got, want)
	}
	return nil
}

func FuzzPaths(f *testing.F) {
	f.Add(uint32(100), uint32(64<<10), uint8(0), uint32(1000), uint8(0))
	f.Add(uint32(300_000), uint32(12_500_000), uint8(1), uint32(64<<10), uint8(3))
	f.Add(uint32(2_000_000), uint32(1_250_000_000), uint8(0), uint32(1<<20), uint8(20))
	f.Fuzz(func(t *testing.T, micros, rate uint32, perMille uint8, message uint32, pause uint8) {
		trip := time.Duration(100+micros%2_000_000) * time.Microsecond
		p := newFarPath(float64(64<<10+rate%1_250_000_000), trip)
		p.loss, p.message, p.pause = float64(perMille%20)/1000, 1+message%(4<<20), int(pause%50)
		part := 0.9
		if p.loss > 0 {
			part = 0.5 // the two runs lose different segments
		}
		if err := p.check(60, 20, part); err != nil {
			t.Errorf("%v, %g MB/s, loss %g, messages of %d, pause %d: %v", trip, p.rate/1e6, p.loss, p.message, p.pause, err)
		}
	})
}

// FuzzPathsThatChange: whatever a path becomes, no window is overrun, and what is sent goes on arriving.
func FuzzPathsThatChange(f *testing.F) {
	f.Add(uint32(300_000), uint32(1_000), uint32(12_500_000), uint32(64<<10), uint8(0))
	f.Add(uint32(1_000), uint32(300_000), uint32(125_000_000), uint32(3<<20), uint8(2))
	f.Add(uint32(50_000), uint32(100), uint32(1_250_000), uint32(1000), uint8(10))
	f.Fuzz(func(t *testing.T, before, after, rate, message uint32, perMille uint8) {
		trip := func(micros uint32) time.Duration { return time.Duration(100+micros%1_000_000) * time.Microsecond }
		p := newFarPath(float64(64<<10+rate%1_250_000_000), trip(before))
		p.loss, p.message = float64(perMille%20)/1000, 1+message%(4<<20)
		next := 0
		for _, trip := range []time.Duration{trip(before), trip(after), trip(before)} {
			p.become(p.rate, trip, next)
			var err error
			received := p.received
			waiting := min((p.queue+float64(p.unsent))/p.product(), 5000)
			if next, err = p.run(next, 50+int(waiting)); err != nil {
				t.Fatal(err)
			}
			if p.received == received || p.w.Announced() < DefaultWindow {
				t.Errorf("%d bytes in 50 round trips of %v; a window of %d", p.received-received, trip, p.w.Announced())
			}
		}
	})
}
