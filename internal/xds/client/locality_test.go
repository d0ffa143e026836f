// SPDX-License-Identifier: Apache-2.0

package client

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// TestNothingThatIsCountedIsLost: reports close counters while RPCs start and finish.
func TestNothingThatIsCountedIsLost(t *testing.T) {
	const users, rpcs = 2, 100_000
	var loads Loads
	c, _ := loads.Cluster("c", "")
	var wg sync.WaitGroup
	done := make(chan struct{})
	for i := range users {
		l := c.Locality(LocalityKey{Zone: fmt.Sprint(i)})
		wg.Go(func() {
			for i := range rpcs {
				l.Started()
				if i%8 == 0 {
					l.ReportNamed("a", 1)
					l.ReportTop(CPU, 1)
				}
				if i%16 == 0 {
					runtime.Gosched() // so that a report comes before the end
				}
				l.Finished(i%2 == 0)
			}
		})
	}
	go func() {
		wg.Wait()
		close(done)
	}()
	var sum localityReport
	var named, top uint64
	add := func() {
		for _, r := range loads.take(nil) {
			for _, l := range r.localities {
				sum.issued, sum.succeeded, sum.failed = sum.issued+l.issued, sum.succeeded+l.succeeded, sum.failed+l.failed
				named, top = named+l.named["a"].count, top+l.top[CPU].count
			}
		}
	}
	for over := false; !over; {
		select {
		case <-done:
			over = true
		default:
		}
		add()
	}
	want := uint64(users * rpcs)
	if sum.issued != want || sum.succeeded != want/2 || sum.failed != want/2 || named != want/8 || top != want/8 {
		t.Errorf("of %d RPCs are reported: %+v, %d and %d metrics", want, sum, named, top)
	}
	if add(); len(c.localities) != 0 {
		t.Errorf("%d localities are left", len(c.localities))
	}
}

// TestCountersClose: each way in which an RPC may come between the steps of a report.
func TestCountersClose(t *testing.T) {
	var n localityCounts
	if !n.start() {
		t.Fatal("closed from the start")
	}
	if r, closed := n.take(); closed || r.issued != 1 || r.active != 1 {
		t.Errorf("closed while an RPC is in progress: %+v", r)
	}
	if r, closed := n.take(); closed || r.active != 1 {
		t.Errorf("closed while an RPC is in progress: %+v", r)
	}
	n.finish(false)
	if r, closed := n.take(); closed || r.succeeded != 1 {
		t.Errorf("closed with something to report: %+v", r)
	}
	if r, closed := n.take(); !closed || !r.isEmpty() {
		t.Errorf("idle, and not closed: %+v", r)
	}
	for range 3 {
		if n.start() {
			t.Error("an RPC starts in what is closed")
		}
	}

	n = localityCounts{}
	n.start()
	if _, closed := n.close(); closed {
		t.Error("closed although an RPC has started")
	}
	n.finish(false)
	if r, closed := n.close(); !closed || r.succeeded != 1 {
		t.Errorf("an RPC that came and went before the close is lost: %+v", r)
	}
}

// TestNamesOfMetricsAreBounded: backends make up names of metrics, and a control plane may not want a report for
// hours.
func TestNamesOfMetricsAreBounded(t *testing.T) {
	var l localityCounts
	fill := func(long int) {
		name := strings.Repeat("x", long)
		for i := range 3*maxNames/(long+nameCost) + 5 {
			l.reportNamed(fmt.Sprint(i, name), 1)
		}
	}
	bytes := func(m map[string]metricSum) (n int) {
		for name := range m {
			n += len(name) + nameCost
		}
		return n
	}
	for _, long := range []int{0, 100, 10_000, maxNames} {
		l.reportNamed("first", 1)
		fill(long)
		l.reportNamed("first", 2)
		if n := bytes(l.named); n > maxNames {
			t.Errorf("names of %d bytes: %d bytes are kept", long, n)
		}
		r, _ := l.take()
		if got := r.named["first"]; got != (metricSum{2, 3}) {
			t.Errorf("names of %d bytes: the first one has %v", long, got)
		}
		if n := bytes(r.named); long <= 10_000 && n < maxNames-long-100 {
			t.Errorf("names of %d bytes: %d bytes are reported", long, n)
		}
	}
}

// TestWithdrawn: an RPC that there was not after all is in no report, and leaves nothing behind. If a report comes
// before that is known, later ones are right.
func TestWithdrawn(t *testing.T) {
	var loads Loads
	c, _ := loads.Cluster("c", "")
	l := c.Locality(LocalityKey{Zone: "z"})
	count := func() (issued, succeeded, active uint64) {
		for _, r := range loads.take(nil) {
			for _, at := range r.localities {
				issued, succeeded, active = issued+at.issued, succeeded+at.succeeded, active+at.active
			}
		}
		return issued, succeeded, active
	}
	l.Started()
	l.Started()
	l.Withdrawn()
	l.Finished(false)
	if issued, succeeded, active := count(); issued != 1 || succeeded != 1 || active != 0 {
		t.Errorf("one RPC and one withdrawn: %d issued, %d succeeded, %d active", issued, succeeded, active)
	}
	l.Started()
	if issued, _, active := count(); issued != 1 || active != 1 {
		t.Errorf("under way: %d issued, %d active", issued, active)
	}
	l.Withdrawn()
	if issued, succeeded, active := count(); issued+succeeded+active != 0 {
		t.Errorf("withdrawn after a report: %d issued, %d succeeded, %d active", issued, succeeded, active)
	}
}
