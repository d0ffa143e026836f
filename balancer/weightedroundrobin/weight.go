// SPDX-License-Identifier: Apache-2.0

package weightedroundrobin

import (
	"math"
	"slices"
	"sync"
	"time"

	orcapb "github.com/cncf/xds/go/xds/data/orca/v3"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/orca"
)

// history is the state that follows from an endpoint's load reports. It has no clock and no lock.
type history struct {
	weight float64
	// since is the time of the first usable report, counted anew after a reconnect or a gap; zero
	// if there is none.
	since time.Time
	// last is the time of the last usable report; zero if there is none.
	last time.Time
}

// add handles a report. It ignores a report that gives no weight.
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

// weightOf returns the weight in a report: queries per second divided by utilization, to which
// errors add. It returns 0 if the report gives no weight.
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
	// Ignore a report with absurd numbers.
	if w := qps / utilization; w > 0 && w <= math.MaxFloat32 {
		return w
	}
	return 0
}

// usability says whether an endpoint's weight can be used, and why not.
type usability int

const (
	usable usability = iota
	tooEarly
	tooLate
)

// value returns the weight at the time now. It is above zero if it is usable.
func (h *history) value(c *config, now time.Time) (float64, usability) {
	switch {
	case h.last.IsZero():
		return 0, tooEarly
	case now.Sub(h.last) >= c.expiration:
		// When reports come again, the blackout period begins again.
		h.since = time.Time{}
		return 0, tooLate
	case c.blackout > 0 && (h.since.IsZero() || now.Sub(h.since) < c.blackout):
		return 0, tooEarly
	}
	return h.weight, usable
}

// endpoint is an endpoint of the balancer. It lives as long as the resolver returns it. It is safe
// for concurrent use.
type endpoint struct {
	done func(balancer.DoneInfo) // handles the load report of an RPC; made once, for all RPCs

	// listening is taken before mu. It is held while the stream of load reports ends, which waits for
	// OnLoadReport.
	listening sync.Mutex
	closed    bool
	ready     []*balancer.SubConn // the SubConns that are ready, the last that became so last
	stop      func()              // ends the stream of load reports; nil if there is none

	mu      sync.Mutex // also held where config is changed, besides listening
	config  *config
	reports history
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

// reconfigure changes the configuration.
func (e *endpoint) reconfigure(c *config) {
	e.listening.Lock()
	defer e.listening.Unlock()
	e.mu.Lock()
	old := e.config
	e.config = c
	e.mu.Unlock()
	if old.outOfBand != c.outOfBand || old.outOfBandPeriod != c.outOfBandPeriod {
		e.listen()
	}
}

// changed handles a new state of a SubConn of the endpoint. The pointer sc identifies the SubConn.
// If several SubConns are ready, the last one that became ready counts: pick_first may have chosen one of two that
// became ready at the same time, and the other is about to go.
func (e *endpoint) changed(sc *balancer.SubConn, s connectivity.State) {
	e.listening.Lock()
	defer e.listening.Unlock()
	before := e.counts()
	e.ready = slices.DeleteFunc(e.ready, func(r *balancer.SubConn) bool { return r == sc })
	if s == connectivity.Ready {
		e.ready = append(e.ready, sc)
		e.restart()
	}
	if s == connectivity.Ready || e.counts() != before {
		e.listen()
	}
}

// counts returns the SubConn whose stream of load reports counts, or nil. The caller must hold listening.
func (e *endpoint) counts() *balancer.SubConn {
	if len(e.ready) == 0 {
		return nil
	}
	return e.ready[len(e.ready)-1]
}

// restart begins the blackout period again, as a new connection may lead to another server.
func (e *endpoint) restart() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reports.since = time.Time{}
}

func (e *endpoint) close() {
	e.listening.Lock()
	defer e.listening.Unlock()
	e.closed = true
	e.listen()
}

// listen ends the stream of load reports, and starts a new one if the configuration asks for it and
// a SubConn is ready. The caller must hold listening.
func (e *endpoint) listen() {
	if e.stop != nil {
		e.stop()
		e.stop = nil
	}
	if sc := e.counts(); sc != nil && e.config.outOfBand && !e.closed {
		e.stop = orca.RegisterOOBListener(*sc, e, orca.OOBListenerOptions{ReportInterval: e.config.outOfBandPeriod})
	}
}
