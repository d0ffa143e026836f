// SPDX-License-Identifier: Apache-2.0

package outlierdetection

import (
	"fmt"
	"time"
)

// change is a SubConn whose health may have changed, so that its listener must be called.
type change = *subConn

// tell calls the listeners of the SubConns in list. The caller must not hold policy.mu.
func tell(list []change) {
	for _, sc := range list {
		sc.review()
	}
}

// scheduleLocked sets the timer for the configuration's interval (A50). If the configuration turns ejection
// off, it returns the SubConns whose listeners must be told that their endpoints are no longer ejected.
func (p *policy) scheduleLocked() []change {
	if !p.config.counting() {
		if p.begun.IsZero() { // ejection was off before, too
			return nil
		}
		p.stopLocked()
		p.begun = time.Time{}
		for _, e := range p.endpoints {
			e.multiplier = 0
			e.ejected.Store(false)
		}
		return p.allLocked()
	}
	now := time.Now()
	if p.begun.IsZero() {
		p.begun = now
		for _, e := range p.endpoints {
			e.swap()
		}
	}
	p.stopLocked()
	p.startLocked(max(p.config.Interval-now.Sub(p.begun), 0))
	return nil
}

func (p *policy) allLocked() []change {
	list := make([]change, 0, p.subConns.Len())
	for sc := range p.subConns.All {
		list = append(list, sc)
	}
	return list
}

func (p *policy) stopLocked() {
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
}

func (p *policy) startLocked(d time.Duration) {
	var t *time.Timer
	t = time.AfterFunc(d, func() {
		p.mu.Lock()
		var r round
		if p.timer == t && !p.closed {
			r = p.intervalLocked(time.Now())
		}
		p.mu.Unlock()
		defer tell(r.changes) // also if a logger or recorder ends the goroutine
		r.record()
	})
	p.timer = t
}

// intervalLocked ends an interval and begins the next one. The caller records the round and tells its changes, without
// the lock.
func (p *policy) intervalLocked(now time.Time) round {
	p.begun = now
	p.startLocked(max(p.config.Interval, time.Millisecond))
	for _, e := range p.endpoints {
		e.swap()
	}
	r := round{policy: p, service: p.service, now: now, touched: make(map[*endpoint]bool)}
	for _, e := range p.endpoints {
		if e.ejected.Load() {
			r.out++
		}
	}
	if s := p.config.SuccessRate; s != nil {
		s.outliers(p.endpoints, func(e *endpoint) bool {
			return r.foundLocked(e, successRate, s.EnforcementPercentage)
		})
	}
	if f := p.config.FailurePercentage; f != nil {
		f.outliers(p.endpoints, func(e *endpoint) bool {
			return r.foundLocked(e, failurePercentage, f.EnforcementPercentage)
		})
	}
	for _, e := range p.endpoints {
		switch {
		case !e.ejected.Load():
			e.multiplier = max(e.multiplier-1, 0)
		case e.over(now, p.config):
			e.ejected.Store(false)
			r.touched[e] = true
			r.notef("endpoint %v is used again", e.addresses)
		}
	}
	for sc := range p.subConns.All {
		if r.touched[sc.endpoint.Load()] {
			r.changes = append(r.changes, sc)
		}
	}
	return r
}

// round is the search for outliers at the end of an interval. The policy's mu is held meanwhile.
type round struct {
	*policy
	service  string // the policy's
	now      time.Time
	out      int // how many endpoints are ejected
	touched  map[*endpoint]bool
	changes  []change  // whose listeners must be told
	verdicts []verdict // in order, to be recorded
	notes    []string  // to be logged
}

func (r *round) notef(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// verdict is what became of an outlier.
type verdict struct {
	method string
	spared string // why it was not ejected; "" if it was
}

func (r *round) unenforced(method, reason string) {
	r.verdicts = append(r.verdicts, verdict{method, reason})
}

// foundLocked ejects an outlier, unless the configuration forbids that. It returns false if the
// maximum is ejected, so that the search for outliers ends.
func (r *round) foundLocked(e *endpoint, method string, enforcement uint32) bool {
	if e.ejected.Load() { // by the other detection method
		return true
	}
	if 100*r.out >= int(r.config.MaxEjectionPercent)*len(r.endpoints) {
		r.unenforced(method, "max_ejection_overflow")
		return false
	}
	if r.roll() >= enforcement {
		r.unenforced(method, "enforcement_percentage")
		return true
	}
	r.verdicts = append(r.verdicts, verdict{method: method})
	e.since = r.now
	e.multiplier++
	e.ejected.Store(true)
	r.out++
	r.touched[e] = true
	r.notef("endpoint %v is left out by its %s: %d of %d RPCs succeeded", e.addresses, method, e.ok, e.all)
	return true
}
