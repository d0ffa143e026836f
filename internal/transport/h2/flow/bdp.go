// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"math"
	"time"
)

const (
	// InitialBDPWindow is the window with which an estimator starts by default.
	InitialBDPWindow = 64 << 10
	// MaxBDPWindow is the largest window that an estimator asks for. It is about what a socket's
	// receive buffer can grow to. Where the bandwidth-delay product is larger, TCP's own window is the
	// limit.
	MaxBDPWindow = 16 << 20

	// shortLead and farLead say how large a window is, in bandwidth-delay products. On a far path TCP
	// doubles what it sends in each round trip, up to what the path carries. A sample is a round trip
	// old when it ends, and the peer learns of the new window half a round trip later. So a window that
	// stays ahead of TCP needs room for two doublings. It is then also large enough for what still
	// arrives in the kernel while a lost packet is sent again.
	shortLead = 3
	farLead   = 4

	// leastFarWindow is the window that a far path gets as soon as it is known to be far: what TCP
	// sends in five round trips from an initial window of ten segments. Later samples make it larger.
	// It is credit, not memory: only what a peer sends and nobody reads is held.
	leastFarWindow = 512 << 10

	// The first PING goes out after 1/firstSample of a window. That is less than TCP sends at first, so
	// that the round trip is known while TCP is still slow.
	firstSample = 8

	// After samples of a short path that change nothing, the next samples come later: each time after
	// twice the time, up to minBDPPause << (maxUnchanged-1). If a round trip brings far less than a
	// window, they also come after twice the bytes, up to 1 << (maxUnchangedBytes-1) windows. After a
	// sample of a far path that changes nothing, the next comes after farPause round trips and a part
	// of a window. That part counts from the last PING. So the first DATA after a silence triggers a
	// PING, if there was much DATA before the silence.
	minBDPPause       = time.Millisecond
	maxUnchanged      = 7
	maxUnchangedBytes = 4
	farPause          = 2
	// farTrip is the round trip above which a path is far.
	farTrip = 10 * time.Millisecond
	// bdpMemory is how long the best rate and the shortest round trip are used: a path may change under
	// a connection.
	bdpMemory = 10 * time.Second
	// worthwhile is the least growth of a window that the peer is told about. A count starts and ends
	// between two frames, and the peer gets its updates in lumps of a quarter, so that a sample of two
	// thirds of a window counts as a full one.
	worthwhile = 1.25
	// earlyWorthwhile is the same while a PING is unanswered: more growth may soon follow.
	earlyWorthwhile = 1.5
	// A window is lowered, after a far path has become short, if it is muchLess times too large. This
	// is more than the difference that the two leads make, for a path with a round trip of about
	// farTrip.
	muchLess = 4
	// schedulingTrip is what a round trip takes besides the path: the scheduling of both ends, and the
	// time until a program takes a message. Before that the window is not given back.
	schedulingTrip = 350 * time.Microsecond
	// leastTick avoids a division by zero if the clock is coarse, or was set back.
	leastTick = time.Microsecond
)

// BDP finds the window that keeps a path full: a few times its bandwidth-delay product.
//
// A PING now and then measures the round trip. The bytes that arrive between one PING and its answer,
// and between one PING and the next, give two rates. Both count. The answer may overtake the data, if
// the peer sends a whole window as one burst, and the next PING may come late. The product is that of
// the best rate and the shortest round trip seen lately. Where the window limits the peer, the rate is
// one window for each round trip, and the window grows by the lead. Where the path is full, a larger
// window only makes round trips longer, and long ones do not count.
//
// How much of a window the peer can use also depends on messages: the window that an incomplete message
// has used is not given back, as nobody can take the message yet. So less than a window may arrive in a
// round trip although the window is the limit. The lead of a far path makes up for that.
//
// A window only grows, unless a far path has become short. On a short path an estimator at MaxBDPWindow
// sends no more PINGs, unless the windows of streams are kept smaller. The zero value never sends any.
// On a far path the PINGs go on: see "Sizes of receive windows" in the documentation of package h2.
//
// Times are durations since a fixed moment, by a clock that does not jump. They are kept in few bits,
// because an estimator of a far path is kept as long as its connection.
type BDP struct {
	window uint32
	since  uint32 // bytes since the last sample ended
	span   uint32 // bytes since the PING went out

	best    float32 // bytes a second
	short   micros  // the shortest round trip; 0: none yet
	sentAt  micros  // when the last PING went out, if sampled
	bestAt  ticks
	shortAt ticks

	unchanged uint8 // samples in a row that have changed nothing, up to maxUnchanged
	pinging   bool
	sampled   bool // a PING went out
	kept      bool // the windows of streams are kept smaller than window
}

// micros is a time or a duration in microseconds. It wraps after 71 minutes: differences are modulo
// that.
type micros uint32

func inMicros(d time.Duration) micros           { return micros(d / time.Microsecond) }
func (m micros) duration() time.Duration        { return time.Duration(m) * time.Microsecond }
func (m micros) until(now micros) time.Duration { return max((now - m).duration(), leastTick) }

// ticks is a time in units of 16 ms. It wraps after 17 minutes.
type ticks uint16

const tick = 16 * time.Millisecond

func inTicks(d time.Duration) ticks           { return ticks(d / tick) }
func (t ticks) until(now ticks) time.Duration { return time.Duration(now-t) * tick }

// newBDP returns an estimator for a window of initial bytes; 0 means InitialBDPWindow.
func newBDP(initial uint32) BDP {
	if initial == 0 {
		initial = InitialBDPWindow
	}
	return BDP{window: initial}
}

// Window returns the window that the estimator last asked for.
func (b *BDP) Window() uint32 { return b.window }

// Lasts reports whether the estimator is still useful after a silence. It is if a PING is unanswered,
// or if the path is far: then each window may come as one burst, with silence until the next.
func (b *BDP) Lasts() bool { return b.pinging || b.isFar() }

func (b *BDP) isFar() bool { return b.short.duration() > farTrip }

// Received counts n bytes of DATA. If ping is true a sample starts, and the caller sends a PING whose
// answer it will recognize. At most one PING is unanswered at a time. Except for the first, none is
// sent before an eighth of a window, or more, has arrived since the last. If window is not 0, the
// caller makes the windows of the streams and the connection so many bytes. Received does not wait for
// the answer then, which may come late on a far path, behind what the peer has queued.
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

// growEarly returns the new window, if the bytes since the PING already show that the window should be
// larger: the product is at least what arrives in a part of a round trip. 0 means no change.
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

// farWindow returns the window for a far path with the given product, all in bytes.
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

// Acked handles the answer to the PING. If changed is true, the caller makes the windows of the streams
// and the connection window bytes: more than before, or less if a far path has become short. If no PING
// was unanswered, window is 0.
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

// product returns the bandwidth-delay product in bytes, including the sample that ends now.
func (b *BDP) product(now time.Duration) float64 {
	b.noteRate(now)
	trip, at := inMicros(b.sentAt.until(inMicros(now))), inTicks(now)
	if b.short == 0 || trip <= b.short || b.shortAt.until(at) > bdpMemory {
		b.short, b.shortAt = trip, at
	}
	return float64(b.best) * (b.short.duration() + schedulingTrip).Seconds()
}

// noteRate records the rate at which bytes have arrived since the PING, if it is the best lately. There is
// none if the clock has not moved: that of Windows moves in steps of up to 16 ms.
func (b *BDP) noteRate(now time.Duration) {
	if inMicros(now) == b.sentAt {
		return
	}
	rate := float32(float64(b.span) / b.sentAt.until(inMicros(now)).Seconds())
	if at := inTicks(now); rate >= b.best || b.bestAt.until(at) > bdpMemory {
		b.best, b.bestAt = rate, at
	}
}
