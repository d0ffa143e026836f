// SPDX-License-Identifier: Apache-2.0

package flow

import "time"

const (
	// InitialBDPWindow is the window an estimator starts from unless told.
	InitialBDPWindow = 64 << 10
	// MaxBDPWindow is the largest window an estimator asks for.
	MaxBDPWindow = 16 << 20

	// maxBDPWait bounds how far samples that changed nothing space out the
	// next ones, as a multiple of half a window.
	maxBDPWait = 8
	// bdpMemory is how long the best rate counts. A path may change under a
	// connection; without an end the best rate of a short path would keep
	// the windows small on a long one.
	bdpMemory = 10 * time.Second
)

// BDP finds the window that keeps a path full: its bandwidth-delay product.
//
// It counts the bytes that arrive between a PING and its answer, which is what
// the path delivers in one round trip. If that comes near the window, the window
// is probably what limits the peer. If the rate also rose above the best seen,
// the last growth was of use, or there was none yet, and the window doubles. When
// the rate stays while the window grows, the path is full: the rest would only
// stand in queues on the way.
//
// A window only grows. An estimator at MaxBDPWindow sends no more pings, and the
// zero value none at all.
type BDP struct {
	window uint32
	wait   uint32 // half windows to receive before the next ping; 0 counts as 1
	since  uint64 // bytes since the last sample ended
	sample uint64 // bytes since the ping went out

	pinging bool
	sentAt  time.Time

	best   float64 // bytes a second
	bestAt time.Time
}

// NewBDP returns an estimator for a window of initial bytes; 0 stands for
// InitialBDPWindow.
func NewBDP(initial uint32) BDP {
	if initial == 0 {
		initial = InitialBDPWindow
	}
	return BDP{window: initial, wait: 1}
}

// Window returns the window last asked for.
func (b *BDP) Window() uint32 { return b.window }

// Received counts n bytes of DATA. If it returns true a sample starts, and the
// caller sends a PING with the data it will know the answer by. There is at most
// one at a time, and none before half a window has arrived since the last.
func (b *BDP) Received(n uint32, now time.Time) (ping bool) {
	if b.window == 0 || b.window >= MaxBDPWindow {
		return false
	}
	if b.pinging {
		b.sample += uint64(n)
		return false
	}
	b.since += uint64(n)
	if b.since < uint64(b.window/2)*uint64(max(b.wait, 1)) {
		return false
	}
	b.pinging, b.sentAt, b.sample = true, now, 0
	return true
}

// Acked takes the answer to the PING. If grown is true the stream and connection
// windows are to become window bytes. An answer to no question is ignored.
func (b *BDP) Acked(now time.Time) (window uint32, grown bool) {
	if !b.pinging {
		return b.window, false
	}
	b.pinging, b.since = false, 0
	if !b.worthGrowing(now) {
		b.wait = min(2*max(b.wait, 1), maxBDPWait)
		return b.window, false
	}
	b.wait = 1
	b.window = min(2*b.window, MaxBDPWindow)
	return b.window, true
}

// worthGrowing judges the sample that ends now, and remembers its rate.
func (b *BDP) worthGrowing(now time.Time) bool {
	// A clock that is coarse, or was set back, must not divide by zero.
	rtt := max(now.Sub(b.sentAt), time.Microsecond)
	rate := float64(b.sample) / rtt.Seconds()
	// The count starts and ends between two frames and the peer gets its
	// updates in lumps of a quarter: two thirds is as near as it gets.
	limited := b.sample >= uint64(b.window)/3*2
	// An eighth more is a rise; less is noise.
	risen := rate > b.best*1.125
	stale := now.Sub(b.bestAt) > bdpMemory
	if rate > b.best || stale && limited {
		b.best, b.bestAt = rate, now
	}
	return limited && (risen || stale)
}
