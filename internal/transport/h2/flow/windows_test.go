// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// pings is the first result of Sample and Received.
func pings(ping bool, _ uint32) bool { return ping }

func TestWindowsArrived(t *testing.T) {
	w := NewWindows(1 << 20)
	if inc, err := w.Arrived(1000); inc != 0 || err != nil {
		t.Errorf("after little: %d, %v", inc, err)
	}
	if inc, err := w.Arrived(DefaultWindow / 4); inc != 1000+DefaultWindow/4 || err != nil {
		t.Errorf("after a quarter: %d, %v", inc, err)
	}
	if w.Recv() != DefaultWindow {
		t.Errorf("the window is then %d", w.Recv())
	}
	if _, err := w.Arrived(DefaultWindow + 1); !errors.Is(err, ErrOverrun) {
		t.Errorf("more than the window: %v", err)
	}
	if inc := w.SetRecv(1 << 20); inc != 1<<20-DefaultWindow || w.Recv() != 1<<20 {
		t.Errorf("grown by %d to %d", inc, w.Recv())
	}
}

// What new streams grant follows the lower of two announcements only when the peer has
// acknowledged it.
func TestWindowsSettings(t *testing.T) {
	w := NewWindows(100)
	if _, ok := w.SettingsAcked(); ok {
		t.Error("acknowledged before it was sent")
	}
	in, out := w.Stream()
	if in.Window() != DefaultWindow || out.Window() != DefaultWindow {
		t.Errorf("at first a stream has %d and %d", in.Window(), out.Window())
	}
	w.SettingsSent()
	if delta, ok := w.SettingsAcked(); !ok || delta != 100-DefaultWindow {
		t.Errorf("acknowledged: %d, %v", delta, ok)
	}
	if in, _ := w.Stream(); in.Window() != 100 {
		t.Errorf("a stream has %d then", in.Window())
	}
	w.SettingsSent()
	if delta, ok := w.SettingsAcked(); !ok || delta != 0 {
		t.Errorf("acknowledged again: %d, %v", delta, ok)
	}
	if delta := w.SetPeerInitial(5); delta != 5-DefaultWindow {
		t.Errorf("the peer's: %d", delta)
	}
	if _, out := w.Stream(); out.Window() != 5 {
		t.Errorf("a stream has %d then", out.Window())
	}
}

func TestWindowsGrow(t *testing.T) {
	w := NewWindows(DefaultWindow)
	a, _ := w.Stream()
	b, _ := w.Stream()
	b.Expect(MaxWindow - 1000)
	all := slices.Values([]*Inflow{&a, &b})
	if inc, grown := w.Grow(1<<20, 1<<20, all); !grown || w.Announced() != DefaultWindow+1000 || inc != 1<<20-DefaultWindow {
		t.Errorf("%d, %v: %d", inc, grown, w.Announced())
	}
	if a.Window() != DefaultWindow+1000 || b.Window() != MaxWindow {
		t.Errorf("the streams have %d and %d", a.Window(), b.Window())
	}
	if inc, grown := w.Grow(1<<20, 1<<20, all); grown || inc != 0 {
		t.Error("grown past what a stream can have")
	}
	if inc, grown := w.Grow(1<<21, 0, all); grown || inc != 1<<20 {
		t.Errorf("the connection's alone: %d, %v", inc, grown)
	}
	if delta, ok := w.SettingsAcked(); !ok || delta != 0 {
		t.Errorf("acknowledged: %d, %v", delta, ok)
	}
}

// An answer to nothing, or one that changes nothing, does not look at each stream: a peer can send many.
func TestWindowsGrowUnasked(t *testing.T) {
	w := NewWindows(DefaultWindow)
	never := func(func(*Inflow) bool) { t.Error("a look at the streams") }
	n, _ := w.Answered(time.Second)
	for _, size := range []uint32{n, DefaultWindow} {
		if inc, grown := w.Grow(size, MaxBDPWindow, never); inc != 0 || grown {
			t.Errorf("%d: %d, %v", size, inc, grown)
		}
	}
	if inc, grown := w.Grow(MaxBDPWindow, 0, never); inc == 0 || grown {
		t.Errorf("the connection's alone: %d, %v", inc, grown)
	}
}

// On a short path whose estimate can grow no further PINGs go on while many streams keep the windows
// small: so these are large again when the streams have ended.
func TestWindowsGrowAgainOnShortPath(t *testing.T) {
	w := NewWindows(DefaultWindow)
	now := 1000 * time.Second
	receive := func() (window uint32) {
		for range 2 * MaxBDPWindow / int(w.Announced()) {
			now += time.Millisecond
			if ping, _ := w.Sample(w.Announced()/2, now); ping {
				now += 50 * time.Microsecond
				n, _ := w.Answered(now)
				window = max(window, n)
			}
		}
		return window
	}
	b := newBDP(MaxBDPWindow)
	w.bdp = &b
	w.Grow(MaxBDPWindow, MaxBDPWindow, func(func(*Inflow) bool) {})
	if n := receive(); n != 0 {
		t.Errorf("a PING asked for %d, where windows cannot grow", n)
	}
	w.Lower(DefaultWindow)
	if n := receive(); n != MaxBDPWindow {
		t.Errorf("a window of %d once streams have ended", n)
	}
}

func TestWindowsSample(t *testing.T) {
	w := NewWindows(DefaultWindow)
	now := 1000 * time.Second
	if n, grown := w.Answered(now); n != 0 || grown {
		t.Error("an answer to nothing")
	}
	if pings(w.Sample(100, now)) {
		t.Error("a sample of nothing much")
	}
	if !pings(w.Sample(DefaultWindow, now)) {
		t.Fatal("no sample of a whole window")
	}
	w.Rest()
	w.Sample(DefaultWindow, now)
	if n, grown := w.Answered(now + time.Millisecond); !grown || n <= DefaultWindow {
		t.Errorf("%d, %v", n, grown)
	}
	w.Rest()
	if _, grown := w.Answered(now); grown {
		t.Error("an estimate that was dropped")
	}
}

// What is too little for a sample makes no estimate, and counts for one that follows it, also after
// a rest.
func TestWindowsSampleLittle(t *testing.T) {
	const part = DefaultWindow/2/firstSample + 1
	now := 1000 * time.Second
	all := make([]Windows, 102)
	for i := range all {
		all[i] = NewWindows(DefaultWindow)
	}
	i := 0
	if n := testing.AllocsPerRun(len(all)-2, func() {
		if pings(all[i].Sample(part, now)) {
			t.Error("a sample of a sixteenth of a window")
		}
		i++
	}); n > 0 {
		t.Errorf("%v allocations for a sixteenth of a window", n)
	}
	all[0].Rest()
	if !pings(all[0].Sample(part, now)) {
		t.Error("no sample of an eighth of a window, in two pieces")
	}
}

// On a far path each window comes as one burst, with a rest after it: all the same the windows grow.
func TestWindowsGrowAcrossRests(t *testing.T) {
	const trip = 300 * time.Millisecond
	w := NewWindows(DefaultWindow)
	now := 1000 * time.Second
	for range 12 {
		n := w.Announced()
		w.Rest()
		ping := pings(w.Sample(n/2, now))
		ping = pings(w.Sample(n/2, now)) || ping
		w.Rest()
		now += trip
		if !ping {
			continue
		}
		if n, grown := w.Answered(now); grown {
			w.Grow(n, n, func(func(*Inflow) bool) {})
			w.SettingsAcked()
		}
	}
	if n := w.Announced(); n < 4<<20 {
		t.Errorf("a window of %d bytes after 12 round trips", n)
	}
}
