// SPDX-License-Identifier: Apache-2.0

package flow

import "time"

const (
	// InitialBDPWindow is the window an estimator starts from unless told.
	InitialBDPWindow = 64 << 10
	// MaxBDPWindow is the largest window an estimator asks for.
	MaxBDPWindow = 16 << 20

	// Samples that change nothing are spaced out, by twice the time after each, up to
	// minBDPPause << (maxVain-1). That is shorter than the round trips that make windows matter
	// most. Where what comes in a round trip is far below a window, they are also spaced by
	// twice the bytes, up to 1 << (maxVainBytes-1) windows.
	minBDPPause  = time.Millisecond
	maxVain      = 7
	maxVainBytes = 4
	// farTrip is the round trip of a path on which so many windows take too long.
	farTrip = 10 * time.Millisecond
	// bdpMemory is how long the best rate and the shortest round trip count: a
	// path may change under a connection.
	bdpMemory = 10 * time.Second
	// worthwhile is the least growth to tell the peer of. The count starts and
	// ends between two frames, and the peer gets its updates in lumps of a
	// quarter, so that a sample of two thirds of a window is a full one.
	worthwhile = 1.25
	// leastTrip is what a round trip counts as at least: on a path shorter
	// than that it is the two ends' scheduling that takes the time.
	leastTrip = 700 * time.Microsecond
	// aloneTrip takes the place of leastTrip once a stream has had the connection to
	// itself for aloneAfter. The larger window lets the next large messages arrive while
	// one is decoded, which makes such a stream a third faster; but other streams would
	// have to wait behind those messages.
	aloneTrip  = 4 * time.Millisecond
	aloneAfter = 100 * time.Millisecond
	// leastTick keeps a clock that is coarse, or was set back, from dividing by
	// zero.
	leastTick = time.Microsecond
)

// BDP finds the window that keeps a path full: twice its bandwidth-delay product.
//
// A PING now and then measures the round trip. What arrives between one PING and
// its answer, or between one PING and the next, gives a rate. Both are looked at: the
// answer may overtake the data, where the peer sends a whole window as one frame, and
// the next PING may be long in coming. The best rate and the shortest round trip seen
// lately make the product. Where the window is what limits the peer, the rate is one
// window for each round trip, and the window doubles. Where the path is full, a larger
// window only makes round trips longer, and long ones do not count.
//
// A window only grows. An estimator at MaxBDPWindow sends no more pings, and the
// zero value none at all.
type BDP struct {
	window uint32
	vain   uint8  // samples in a row that changed nothing, up to maxVain
	since  uint64 // bytes since the last sample ended
	sample uint64 // bytes since the ping went out, up to its answer
	span   uint64 // bytes since the ping went out

	pinging bool
	sentAt  time.Time

	best    float64 // bytes a second
	bestAt  time.Time
	short   time.Duration // the shortest round trip
	shortAt time.Time

	opened uint64    // what Streams was told last
	shared time.Time // when streams last shared the connection
}

// NewBDP returns an estimator for a window of initial bytes; 0 stands for
// InitialBDPWindow.
func NewBDP(initial uint32) BDP {
	if initial == 0 {
		initial = InitialBDPWindow
	}
	return BDP{window: initial}
}

// Window returns the window last asked for.
func (b *BDP) Window() uint32 { return b.window }

// Sampling reports whether a PING is on its way.
func (b *BDP) Sampling() bool { return b.pinging }

// Received counts n bytes of DATA. If it returns true a sample starts, and the
// caller sends a PING with the data it will know the answer by. There is at most
// one at a time, and none before half a window, or more, has arrived since the last.
func (b *BDP) Received(n uint32, now time.Time) (ping bool) {
	if b.window == 0 || b.window >= MaxBDPWindow {
		return false
	}
	b.span += uint64(n)
	if b.pinging {
		b.sample += uint64(n)
		return false
	}
	b.since += uint64(n)
	if !b.due(now) {
		return false
	}
	if !b.sentAt.IsZero() {
		b.noteRate(b.span, now)
	}
	b.pinging, b.sentAt, b.sample, b.span = true, now, 0, 0
	return true
}

// due reports whether enough bytes and time have passed since the last sample.
func (b *BDP) due(now time.Time) bool {
	half := uint64(b.window / 2)
	if b.since < half {
		return false
	}
	past := now.Sub(b.sentAt)
	switch {
	case b.vain == 0:
		return true
	case past < minBDPPause<<(b.vain-1):
		return false
	}
	trip := float64(b.since) * float64(b.short) / float64(past) // bytes in a round trip
	return trip >= float64(half/2) || b.since >= half<<min(b.vain, maxVainBytes)
}

// Rest returns what a later estimator of the same path is to know of this one, which has no use any
// more: how many samples in a row were in vain, where there is soon another if they are not.
func (b *BDP) Rest() (vain uint8) {
	if b.short > farTrip {
		return 0
	}
	return b.vain
}

// Acked takes the answer to the PING. If grown is true the stream and connection
// windows are to become window bytes. An answer to no question is ignored.
func (b *BDP) Acked(now time.Time) (window uint32, grown bool) {
	if !b.pinging {
		return b.window, false
	}
	b.pinging, b.since = false, 0
	want := b.product(now) * 2
	if want < float64(b.window)*worthwhile {
		b.vain = min(b.vain+1, maxVain)
		return b.window, false
	}
	b.vain = 0
	b.window = uint32(min(want, float64(2*b.window), MaxBDPWindow))
	return b.window, true
}

// Streams says how many streams are open, and a number that changes when one is opened.
func (b *BDP) Streams(open int, opened uint64, now time.Time) {
	if open > 1 || opened != b.opened {
		b.opened, b.shared = opened, now
	}
}

// product is the bandwidth-delay product in bytes, after the sample that ends
// now.
func (b *BDP) product(now time.Time) float64 {
	b.noteRate(b.sample, now)
	rtt := max(now.Sub(b.sentAt), leastTick)
	if b.short == 0 || rtt <= b.short || now.Sub(b.shortAt) > bdpMemory {
		b.short, b.shortAt = rtt, now
	}
	least := leastTrip
	if now.Sub(b.shared) > aloneAfter {
		least = aloneTrip
	}
	return b.best * max(b.short, least).Seconds()
}

// noteRate remembers the rate at which n bytes came since the PING.
func (b *BDP) noteRate(n uint64, now time.Time) {
	rate := float64(n) / max(now.Sub(b.sentAt), leastTick).Seconds()
	if rate >= b.best || now.Sub(b.bestAt) > bdpMemory {
		b.best, b.bestAt = rate, now
	}
}
