// SPDX-License-Identifier: Apache-2.0

package weightedroundrobin

import (
	"math"
	"sync"
	"time"

	orcapb "github.com/cncf/xds/go/xds/data/orca/v3"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/orca"
)

// history is what an endpoint has reported. It has no clock and no lock.
type history struct {
	weight float64
	// since is when the reports began that may count; zero before that.
	since time.Time
	// last is when the last report came that may count; zero before that.
	last time.Time
}

// add takes a report. One that lacks what the weight is made of changes nothing.
func (h *history) add(r *orcapb.OrcaLoadReport, penalty float64, now time.Time) {
	w := weightOf(r, penalty)
	if w == 0 {
		return
	}
	h.weight, h.last = w, now
	if h.since.IsZero() {
		h.since = now
	}
}

// weightOf returns queries a second over utilization, to which errors add; 0 if it can't
// be said.
func weightOf(r *orcapb.OrcaLoadReport, penalty float64) float64 {
	utilization := r.GetApplicationUtilization()
	if !(utilization > 0) {
		utilization = r.GetCpuUtilization()
	}
	qps := r.GetRpsFractional()
	if !(utilization > 0 && qps > 0) {
		return 0
	}
	if eps := r.GetEps(); eps > 0 {
		utilization += eps / qps * penalty
	}
	// A report of absurd numbers is none.
	if w := qps / utilization; w > 0 && w <= math.MaxFloat32 {
		return w
	}
	return 0
}

// usability says why an endpoint has a weight or none.
type usability int

const (
	usable usability = iota
	tooEarly
	tooLate
)

// value returns the weight that counts now, which is above zero if it is usable.
func (h *history) value(c *config, now time.Time) (float64, usability) {
	switch {
	case h.last.IsZero():
		return 0, tooEarly
	case now.Sub(h.last) >= c.expiration:
		// When reports come again, they have to do so for the time of the blackout.
		h.since = time.Time{}
		return 0, tooLate
	case c.blackout > 0 && (h.since.IsZero() || now.Sub(h.since) < c.blackout):
		return 0, tooEarly
	}
	return h.weight, usable
}

// endpoint is one of the balancer's, and lives as long as it is resolved. It is safe for
// concurrent use.
type endpoint struct {
	done func(balancer.DoneInfo) // takes the report of an RPC; made once, for all

	mu      sync.Mutex
	config  *config
	reports history
	closed  bool
	ready   *balancer.SubConn // nil without one
	stop    func()            // ends reports out of band; nil when there are none
}

func newEndpoint(c *config) *endpoint {
	e := &endpoint{config: c}
	e.done = func(info balancer.DoneInfo) {
		if r, ok := info.ServerLoad.(*orcapb.OrcaLoadReport); ok && r != nil {
			e.OnLoadReport(r)
		}
	}
	return e
}

// OnLoadReport implements orca.OOBListener.
func (e *endpoint) OnLoadReport(r *orcapb.OrcaLoadReport) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reports.add(r, e.config.penalty, time.Now())
}

func (e *endpoint) value(now time.Time) (float64, usability) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.reports.value(e.config, now)
}

// reconfigure takes another configuration.
func (e *endpoint) reconfigure(c *config) {
	e.mu.Lock()
	defer e.mu.Unlock()
	old := e.config
	e.config = c
	if old.outOfBand != c.outOfBand || old.outOfBandPeriod != c.outOfBandPeriod {
		e.listen()
	}
}

// changed follows the state of a SubConn of the endpoint, which stays where it is: that is
// what it is known by. While there is more than one, the last that became ready counts.
func (e *endpoint) changed(sc *balancer.SubConn, s connectivity.State) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case s == connectivity.Ready:
		e.ready = sc
		e.reports.since = time.Time{} // it may be another server now
	case sc == e.ready:
		e.ready = nil
	default:
		return
	}
	e.listen()
}

func (e *endpoint) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	e.listen()
}

// listen begins reports out of band, or ends them, as it should be now. mu is held.
func (e *endpoint) listen() {
	if e.stop != nil {
		e.stop()
		e.stop = nil
	}
	if e.ready != nil && e.config.outOfBand && !e.closed {
		e.stop = orca.RegisterOOBListener(*e.ready, e, orca.OOBListenerOptions{ReportInterval: e.config.outOfBandPeriod})
	}
}
