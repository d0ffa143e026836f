// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// TestQuietWait: only samples in a row that find nothing to do end a wait, and not before its time;
// its patience ends it otherwise.
func TestQuietWait(t *testing.T) {
	start := time.Now()
	for _, c := range []struct {
		name string
		busy func(n int) bool
		want time.Duration
	}{
		{"never busy", func(int) bool { return false }, time.Second},
		{"always busy", func(int) bool { return true }, time.Second + quietPatience + sampleEvery},
		{"busy at first", func(n int) bool { return n < 1000 }, 1000*sampleEvery + (quietSamples-1)*sampleEvery},
		{"busy now and then", func(n int) bool { return n < 2000 && n%(quietSamples-1) == 0 }, (1999/(quietSamples-1)*(quietSamples-1) + quietSamples) * sampleEvery},
	} {
		w := &quietWait{from: start.Add(time.Second), patience: quietPatience, done: make(chan struct{})}
		n := 0
		for !w.look(start.Add(time.Duration(n)*sampleEvery), c.busy(n)) {
			n++
		}
		if got := time.Duration(n) * sampleEvery; got != c.want {
			t.Errorf("%s: over after %v, want %v", c.name, got, c.want)
		}
	}
}

// TestQuietInTurn: waits end one after the other, in the order of their times.
func TestQuietInTurn(t *testing.T) {
	start := time.Now()
	q := quietWatch{}
	for _, after := range []time.Duration{2, 0, 1} {
		q.waits = append(q.waits, &quietWait{from: start.Add(after), patience: quietPatience, done: make(chan struct{})})
	}
	waits := append([]*quietWait(nil), q.waits...)
	var order []int
	for n := 1; len(q.waits) > 0; n++ {
		q.look(start.Add(time.Second), false)
		for i, w := range waits {
			if slices.Contains(q.waits, w) || slices.Contains(order, i) {
				continue
			}
			<-w.done
			order = append(order, i)
			if want := quietSamples + (len(order)-1)*minAfter; n != want {
				t.Errorf("wait %d ends after %d samples, want %d", i, n, want)
			}
		}
	}
	if want := []int{1, 2, 0}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}

// TestQuiet: a goroutine that has something to do is waited for, however long it takes.
func TestQuiet(t *testing.T) {
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !stop.Load() { // it never rests
		}
	}()
	quiet := Quiet(0)
	timer := time.NewTimer(50 * sampleEvery)
	defer timer.Stop()
	select {
	case <-quiet:
		t.Error("quiet beside a goroutine that never rests")
	case <-timer.C:
	}
	stop.Store(true)
	<-done
	<-quiet
}
