// SPDX-License-Identifier: Apache-2.0

package outlierdetection

import "time"

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
		var changes []change
		if p.timer == t && !p.closed {
			changes = p.intervalLocked(time.Now())
		}
		p.mu.Unlock()
		tell(changes)
	})
	p.timer = t
}

// intervalLocked ends an interval and begins the next one. It returns the SubConns whose listeners
// must be told.
func (p *policy) intervalLocked(now time.Time) []change {
	p.begun = now
	p.startLocked(max(p.config.Interval, time.Millisecond))
	for _, e := range p.endpoints {
		e.swap()
	}
	touched := make(map[*endpoint]bool)
	if s := p.config.SuccessRate; s != nil {
		s.outliers(p.endpoints, func(e *endpoint) bool {
			return p.foundLocked(e, successRate, s.EnforcementPercentage, now, touched)
		})
	}
	if f := p.config.FailurePercentage; f != nil {
		f.outliers(p.endpoints, func(e *endpoint) bool {
			return p.foundLocked(e, failurePercentage, f.EnforcementPercentage, now, touched)
		})
	}
	for _, e := range p.endpoints {
		switch {
		case !e.ejected.Load():
			e.multiplier = max(e.multiplier-1, 0)
		case e.over(now, p.config):
			e.ejected.Store(false)
			touched[e] = true
			logger.Infof("endpoint %v is used again", e.addresses)
		}
	}
	var list []change
	for sc := range p.subConns.All {
		if touched[sc.endpoint.Load()] {
			list = append(list, sc)
		}
	}
	return list
}

// foundLocked ejects an outlier, unless the configuration forbids that. It returns false if the
// maximum is ejected, so that the search for outliers ends.
func (p *policy) foundLocked(e *endpoint, method string, enforcement uint32, now time.Time, touched map[*endpoint]bool) bool {
	if e.ejected.Load() { // by the other detection method
		return true
	}
	out := 0
	for _, o := range p.endpoints {
		if o.ejected.Load() {
			out++
		}
	}
	if 100*out >= int(p.config.MaxEjectionPercent)*len(p.endpoints) {
		p.unenforced(method, "max_ejection_overflow")
		return false
	}
	if p.roll() >= enforcement {
		p.unenforced(method, "enforcement_percentage")
		return true
	}
	p.enforced(method)
	e.since = now
	e.multiplier++
	e.ejected.Store(true)
	touched[e] = true
	logger.Infof("endpoint %v is left out by its %s: %d of %d RPCs succeeded", e.addresses, method, e.ok, e.all)
	return true
}
