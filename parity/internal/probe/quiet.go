// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"runtime/metrics"
	"slices"
	"sync"
	"time"
)

// What a peer does not do can't be waited for, and how long it takes not to do it depends on the
// load of the machine. Probes wait until the process is quiet instead: each of its goroutines waits
// for something, whether it is the module's, the peer's or the probe's own. Both ends of each
// connection are in the process, so that nothing is on its way then but what timers bring.

const (
	// sampleEvery is the time between two looks at the process.
	sampleEvery = 2 * time.Millisecond
	// quietSamples is how many in a row must find nothing to do: what a socket brings is seen by
	// a thread that the system has to run first, as it has to run the sampler.
	quietSamples = 30
	// minAfter is how many of them must come after another wait has ended.
	minAfter = 10
	// quietPatience is how much longer than it was asked for a wait may be, where a probe beside
	// never rests.
	quietPatience = 20 * time.Second
)

// Quiet returns a channel that is closed once d has passed and the process is quiet.
func Quiet(d time.Duration) <-chan struct{} { return newWait(d, quietPatience).done }

// QuietOr is Quiet that others need not wait for any more once stop is called.
func QuietOr(d time.Duration) (quiet <-chan struct{}, stop func()) {
	w := newWait(d, quietPatience)
	return w.done, w.stop
}

func newWait(d, patience time.Duration) *quietWait {
	w := &quietWait{from: time.Now().Add(d), patience: patience, done: make(chan struct{})}
	quiet.add(w)
	return w
}

// Settle waits until d has passed and the process is quiet.
func Settle(d time.Duration) { <-Quiet(d) }

// quietWait is one wait for the process.
type quietWait struct {
	from     time.Time
	patience time.Duration // how much longer it may take
	streak   int           // quiet samples in a row
	done     chan struct{}
}

// look counts a sample, and reports whether the wait may end.
func (w *quietWait) look(now time.Time, busy bool) bool {
	w.streak++
	if busy {
		w.streak = 0
	}
	return now.After(w.from.Add(w.patience)) || w.streak >= quietSamples && !now.Before(w.from)
}

// stop takes the wait back. Its channel is not closed any more.
func (w *quietWait) stop() {
	quiet.mu.Lock()
	defer quiet.mu.Unlock()
	if i := slices.Index(quiet.waits, w); i >= 0 {
		quiet.waits = slices.Delete(quiet.waits, i, i+1)
	}
}

// quiet has all waits of the process; its sampler runs while there are some.
var quiet = quietWatch{added: make(chan struct{}, 1)}

type quietWatch struct {
	mu      sync.Mutex
	waits   []*quietWait
	samples bool          // the sampler runs
	added   chan struct{} // has a value if there are waits that the sampler has not heard of
}

func (q *quietWatch) add(w *quietWait) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waits = append(q.waits, w)
	if !q.samples {
		q.samples = true
		go q.sample()
		return
	}
	select {
	case q.added <- struct{}{}:
	default:
	}
}

// sample looks at the process until nobody waits.
func (q *quietWatch) sample() {
	counts := []metrics.Sample{
		{Name: "/sched/goroutines/running:goroutines"},
		{Name: "/sched/goroutines/runnable:goroutines"},
	}
	for next := q.next(time.Now()); ; {
		timer := time.NewTimer(next)
		select {
		case <-timer.C:
		case <-q.added:
			timer.Stop()
			next = q.next(time.Now())
			continue
		}
		metrics.Read(counts)
		busy := counts[0].Value.Uint64() > 1 || counts[1].Value.Uint64() > 0 // the sampler itself runs
		if q.look(time.Now(), busy) == 0 {
			return
		}
		next = q.next(time.Now())
	}
}

// next returns how long no wait can end, so that no sample is needed.
func (q *quietWatch) next(now time.Time) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	next := time.Hour
	for _, w := range q.waits {
		next = min(next, w.from.Sub(now)-quietSamples*sampleEvery)
	}
	return max(next, sampleEvery)
}

// look shows a sample to all waits, and returns how many are left. Of those that may end the one
// does whose time came first: what is done then may be what another waits for.
func (q *quietWatch) look(now time.Time, busy bool) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	first := -1
	for i, w := range q.waits {
		if w.look(now, busy) && (first < 0 || w.from.Before(q.waits[first].from)) {
			first = i
		}
	}
	if first >= 0 {
		close(q.waits[first].done)
		q.waits = slices.Delete(q.waits, first, first+1)
		for _, w := range q.waits {
			w.streak = min(w.streak, quietSamples-minAfter)
		}
	}
	q.samples = len(q.waits) > 0
	return len(q.waits)
}
