// SPDX-License-Identifier: Apache-2.0

package weightedroundrobin

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/balancer"
)

// entry is an endpoint that is ready.
type entry struct {
	*endpoint
	picker balancer.Picker
}

// picker picks among its entries in proportion to their weights. It recomputes the weights
// periodically while RPCs use it. Without RPCs it has no timer.
type picker struct {
	// Immutable.
	entries []entry // not empty
	config  *config
	meter   meter

	choices  atomic.Uint64
	schedule atomic.Pointer[schedule]
	resting  atomic.Bool // the timer does not run, and the schedule may be old

	mu     sync.Mutex
	timer  *time.Timer
	seen   uint64 // choices at the last update
	closed bool
}

// newPicker also returns the readings of the first update, to be recorded without a lock.
func newPicker(entries []entry, c *config, m meter) (*picker, readings) {
	p := &picker{entries: entries, config: c, meter: m}
	// A random start: if every client began at 0, the first endpoint would get more than its
	// share of RPCs.
	p.choices.Store(rand.Uint64())
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.updateLocked()
	p.timer = time.AfterFunc(c.updatePeriod, p.tick)
	return p, r
}

func (p *picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	n := p.choices.Add(1)
	if p.resting.Load() {
		p.wake()
	}
	e := p.entries[p.schedule.Load().index(n)]
	result, err := e.picker.Pick(info)
	if err != nil || p.config.outOfBand {
		return result, err
	}
	if next := result.Done; next != nil {
		result.Done = func(info balancer.DoneInfo) {
			e.done(info)
			next(info)
		}
	} else {
		result.Done = e.done
	}
	return result, nil
}

// updateLocked recomputes the schedule. The caller records the readings, without the lock: recorders are the program's.
func (p *picker) updateLocked() readings {
	p.seen = p.choices.Load()
	r := readings{weights: make([]float64, len(p.entries))}
	now := time.Now()
	for i, e := range p.entries {
		w, u := e.value(now)
		r.weights[i] = w
		switch u {
		case tooEarly:
			r.early++
		case tooLate:
			r.late++
		}
	}
	p.schedule.Store(newSchedule(r))
	return r
}

// tick updates the weights. If there were no RPCs since the last update, it stops the timer until
// the next RPC.
func (p *picker) tick() {
	p.updateIf(func() bool {
		p.resting.Store(!p.closed && p.choices.Load() == p.seen)
		return !p.closed && !p.resting.Load()
	})
}

func (p *picker) wake() {
	p.updateIf(func() bool { return p.resting.Swap(false) && !p.closed })
}

// updateIf updates the weights and sets the timer for the next update, if due returns true. due is called with the
// lock held.
func (p *picker) updateIf(due func() bool) {
	p.mu.Lock()
	if !due() {
		p.mu.Unlock()
		return
	}
	r := p.updateLocked()
	p.timer.Reset(p.config.updatePeriod)
	p.mu.Unlock()
	p.meter.update(r)
}

// close ends the updates. The picker can still be used. p may be nil.
func (p *picker) close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.resting.Store(false)
	p.timer.Stop()
}
