// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"math"
	"time"
)

const (
	// InitialBDPWindow is the window an estimator starts from unless told.
	InitialBDPWindow = 64 << 10
	// MaxBDPWindow is the largest window an estimator asks for. It is about what a socket's receive
	// buffer can grow to: where the product is larger, TCP's own window is the limit.
	MaxBDPWindow = 16 << 20

	// shortLead and farLead are how many products of bandwidth and round trip a window has. On a
	// far path TCP doubles what it sends in each round trip, up to what the path carries. A sample
	// is a round trip old when it ends, and the peer hears of it half a round trip later. So a
	// window that is to lead TCP has room for two doublings; it is also large enough for what goes
	// on arriving in the kernel while a lost packet is sent again.
	shortLead = 3
	farLead   = 4

	// leastFarWindow is the window that a far path begins with, as soon as it is known to be one: what
	// TCP sends in five round trips from an initial window of ten segments. Until then samples lead.
	// It is credit, not memory: only what a peer sends and nobody reads is held.
	leastFarWindow = 512 << 10

	// firstSample is the part of a window, one in so many, after which the first PING goes out: it is
	// less than what TCP sends at first, so that the round trip is known while TCP is slow.
	firstSample = 8

	// Samples of a short path that change nothing are spaced out, by twice the time after each, up
	// to minBDPPause << (maxUnchanged-1). Where what comes in a round trip is far below a window, they are
	// also spaced by twice the bytes, up to 1 << (maxUnchangedBytes-1) windows. Those of a far path that
	// change nothing are spaced by farPause round trips, and by a part of a window that counts from the
	// last PING, so that the first DATA after a silence has one, if there was much before it.
	minBDPPause       = time.Millisecond
	maxUnchanged      = 7
	maxUnchangedBytes = 4
	farPause          = 2
	// farTrip is the round trip from which a path is far.
	farTrip = 10 * time.Millisecond
	// bdpMemory is how long the best rate and the shortest round trip count: a
	// path may change under a connection.
	bdpMemory = 10 * time.Second
	// worthwhile is the least growth to tell the peer of. The count starts and
	// ends between two frames, and the peer gets its updates in lumps of a
	// quarter, so that a sample of two thirds of a window is a full one.
	worthwhile = 1.25
	// earlyWorthwhile is the same while a PING is on its way: more may soon follow.
	earlyWorthwhile = 1.5
	// muchLess is how many times too large a window has to be, once a far path has become short, to be
	// lowered. It is more than what makes the two leads differ, for a path with a round trip of about farTrip.
	muchLess = 4
	// schedulingTrip is what a round trip takes beside the path: the two ends' scheduling, and the
	// time until a program takes a message, of which the window is not given back before.
	schedulingTrip = 350 * time.Microsecond
	// leastTick keeps a clock that is coarse, or was set back, from dividing by
	// zero.
	leastTick = time.Microsecond
)

// BDP finds the window that keeps a path full: a few times its bandwidth-delay product.
//
// A PING now and then measures the round trip. What arrives between one PING and
// its answer, or between one PING and the next, gives a rate. Both are looked at: the
// answer may overtake the data, where the peer sends a whole window as one burst, and
// the next PING may be long in coming. The best rate and the shortest round trip seen
// lately make the product. Where the window is what limits the peer, the rate is one
// window for each round trip, and the window grows by the lead. Where the path is full, a larger
// window only makes round trips longer, and long ones do not count.
//
// How much of a window the peer can use is also a matter of messages: the window of one that has
// not arrived whole is not given back, as nobody can take it. So less than a window
// may come in a round trip though the window is the limit; the lead of a far path makes up for
// that.
//
// A window grows, but where a far path has become short. An estimator at MaxBDPWindow sends no more pings on a short path, but while
// the windows of streams are kept smaller, and the zero value none at all. On a far path they go on: see "Sizes of receive windows" of package h2.
//
// Times are durations since a moment that stays the same, by a clock that does not jump. They are
// kept in few bits: an estimator of a far path lasts as long as the connection.
type BDP struct {
	window uint32
	since  uint32 // bytes since the last sample ended
	span   uint32 // bytes since the PING went out

	best    float32 // bytes a second
	short   micros  // the shortest round trip; 0: none yet
	sentAt  micros  // when the last PING went out, if any did
	bestAt  ticks
	shortAt ticks

	unchanged uint8 // samples in a row that changed nothing, up to maxUnchanged
	pinging   bool
	sampled   bool // a PING went out
	kept      bool // the windows of streams are kept smaller than window
}

// micros are microseconds. They wrap after 71 minutes: a difference is meant modulo that.
type micros uint32

func inMicros(d time.Duration) micros           { return micros(d / time.Microsecond) }
func (m micros) duration() time.Duration        { return time.Duration(m) * time.Microsecond }
func (m micros) until(now micros) time.Duration { return max((now - m).duration(), leastTick) }

// ticks are units of 16 ms. They wrap after 17 minutes.
type ticks uint16

const tick = 16 * time.Millisecond

func inTicks(d time.Duration) ticks           { return ticks(d / tick) }
func (t ticks) until(now ticks) time.Duration { return time.Duration(now-t) * tick }

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

// Lasts reports whether the estimator is still of use after a silence: a PING is on its way, or the
// path is far, so that each window may come as one burst with silence until the next.
func (b *BDP) Lasts() bool { return b.pinging || b.isFar() }

func (b *BDP) isFar() bool { return b.short.duration() > farTrip }

// Received counts n bytes of DATA. If ping is true a sample starts, and the
// caller sends a PING with the data it will know the answer by. There is at most
// one at a time, and, but for the first, none before an eighth of a window, or more, has arrived
// since the last. If window is not 0 the stream and connection windows are to become that many bytes:
// on a far path the answer may be long in coming, behind what the peer has queued.
func (b *BDP) Received(n uint32, now time.Duration) (ping bool, window uint32) {
	if b.window == 0 || b.window >= MaxBDPWindow && !b.isFar() && !b.kept {
		return false, 0
	}
	b.span = addUpTo(b.span, n)
	if b.pinging {
		return false, b.growEarly(now)
	}
	b.since = addUpTo(b.since, n)
	if !b.due(now) {
		return false, 0
	}
	if b.sampled {
		b.noteRate(now)
	}
	b.pinging, b.sampled, b.sentAt, b.span = true, true, inMicros(now), 0
	return true, 0
}

// growEarly returns the new window if what has come since the PING is enough to know that the window
// should be larger: a product is no less than what comes in a part of a round trip. 0 is no change.
func (b *BDP) growEarly(now time.Duration) (window uint32) {
	past := b.sentAt.until(inMicros(now))
	if past <= farTrip || b.short > 0 && !b.isFar() {
		return 0
	}
	product := float64(b.span)
	if short := b.short.duration(); b.short > 0 && past > short {
		product *= float64(short) / float64(past)
	}
	want := farWindow(product)
	if want < earlyWorthwhile*float64(b.window) {
		return 0
	}
	b.unchanged = 0
	b.window = uint32(want)
	return b.window
}

// farWindow is the window for a far path with a product of so many bytes.
func farWindow(product float64) float64 {
	return min(max(product*farLead, leastFarWindow), MaxBDPWindow)
}

func addUpTo(a, n uint32) uint32 { return a + min(n, math.MaxUint32-a) }

// due reports whether enough bytes and time have passed since the last sample.
func (b *BDP) due(now time.Duration) bool {
	if !b.sampled && b.unchanged == 0 {
		return b.since >= b.window/firstSample
	}
	past := b.sentAt.until(inMicros(now))
	if b.isFar() {
		return b.unchanged == 0 && b.since >= b.window/farLead || b.span >= b.window/firstSample && past >= farPause*b.short.duration()
	}
	half := uint64(b.window / 2)
	since := uint64(b.since)
	switch {
	case since < half:
		return false
	case b.unchanged == 0:
		return true
	case past < minBDPPause<<(b.unchanged-1):
		return false
	}
	trip := float64(since) * float64(b.short.duration()) / float64(past) // bytes in a round trip
	return trip >= float64(half/2) || since >= half<<min(b.unchanged, maxUnchangedBytes)
}

// Acked takes the answer to the PING. If changed is true the stream and connection
// windows are to become window bytes: more, or, where a far path has become short, less. For an answer to no
// question window is 0.
func (b *BDP) Acked(now time.Duration) (window uint32, changed bool) {
	if !b.pinging {
		return 0, false
	}
	b.pinging, b.since = false, 0
	wasFar := b.isFar()
	product := b.product(now)
	want := min(product*shortLead, 2*float64(b.window))
	if b.isFar() {
		want = farWindow(product)
	}
	switch becameShort := wasFar && !b.isFar(); {
	case want >= float64(b.window)*worthwhile:
		b.window = uint32(min(want, MaxBDPWindow))
	case becameShort && want <= float64(b.window)/muchLess:
		b.window = min(b.window, max(uint32(want), InitialBDPWindow))
	default:
		b.unchanged = min(b.unchanged+1, maxUnchanged)
		return b.window, false
	}
	b.unchanged = 0
	return b.window, true
}

// product is the bandwidth-delay product in bytes, after the sample that ends
// now.
func (b *BDP) product(now time.Duration) float64 {
	b.noteRate(now)
	trip, at := inMicros(b.sentAt.until(inMicros(now))), inTicks(now)
	if b.short == 0 || trip <= b.short || b.shortAt.until(at) > bdpMemory {
		b.short, b.shortAt = trip, at
	}
	return float64(b.best) * (b.short.duration() + schedulingTrip).Seconds()
}

// noteRate remembers the rate at which bytes came since the PING.
func (b *BDP) noteRate(now time.Duration) {
	rate := float32(float64(b.span) / b.sentAt.until(inMicros(now)).Seconds())
	if at := inTicks(now); rate >= b.best || b.bestAt.until(at) > bdpMemory {
		b.best, b.bestAt = rate, at
	}
}
