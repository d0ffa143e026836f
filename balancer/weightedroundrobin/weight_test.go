// SPDX-License-Identifier: Apache-2.0

package weightedroundrobin

import (
	"math"
	"testing"
	"time"

	orcapb "github.com/cncf/xds/go/xds/data/orca/v3"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
)

func TestWeightOf(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, tt := range []struct {
		app, cpu, qps, eps, penalty float64
		want                        float64
	}{
		{0, 0.5, 100, 0, 1, 200},
		{0.25, 0.5, 100, 0, 1, 400}, // the application knows best
		{0, 2, 100, 0, 1, 50},
		{0, 0.5, 100, 10, 1, 100 / 0.6},
		{0, 0.5, 100, 10, 0, 200},
		{0, 0.5, 100, 10, 5, 100},
		{0, 0.5, 100, -10, 1, 200},
		{0, 0, 100, 0, 1, 0},
		{0, 0.5, 0, 0, 1, 0},
		{0, 0, 0, 10, 1, 0},
		{-1, 0.5, 100, 0, 1, 200},
		{0, -0.5, 100, 0, 1, 0},
		{0, 0.5, -100, 0, 1, 0},
		{nan, 0.5, 100, 0, 1, 200},
		{0, nan, 100, 0, 1, 0},
		{0, 0.5, nan, 0, 1, 0},
		{0, 0.5, inf, 0, 1, 0},
		{0, inf, 100, 0, 1, 0},
		{0, math.SmallestNonzeroFloat64, 100, 0, 1, 0},
		{0, 0.5, 100, inf, 1, 0},
		{0, 0.5, 100, nan, 1, 200},
	} {
		r := &orcapb.OrcaLoadReport{
			ApplicationUtilization: tt.app, CpuUtilization: tt.cpu, RpsFractional: tt.qps, Eps: tt.eps,
		}
		if got := weightOf(r, tt.penalty); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

func TestHistory(t *testing.T) {
	c := &config{blackout: 10 * time.Second, expiration: 60 * time.Second}
	good := &orcapb.OrcaLoadReport{CpuUtilization: 0.5, RpsFractional: 1}
	start := time.Unix(1000, 0)
	var h history
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	want := func(second int, weight float64, u usability) {
		t.Helper()
		if w, got := h.value(c, at(second)); w != weight || got != u {
			t.Errorf("second %d: %v, %v; want %v, %v", second, w, got, weight, u)
		}
	}
	want(0, 0, tooEarly)
	h.add(&orcapb.OrcaLoadReport{}, 1, at(0)) // says nothing
	want(15, 0, tooEarly)
	h.add(good, 1, at(20))
	want(20, 0, tooEarly)
	want(29, 0, tooEarly)
	want(30, 2, usable)
	want(79, 2, usable)
	h.add(good, 1, at(79))
	want(138, 2, usable)
	want(139, 0, tooLate)
	// Reports that come again have to do so for as long as at first.
	h.add(good, 1, at(150))
	want(159, 0, tooEarly)
	want(160, 2, usable)
	// So do those after another connection.
	h.since = time.Time{}
	want(161, 0, tooEarly)
	h.add(good, 1, at(162))
	want(171, 0, tooEarly)
	want(172, 2, usable)
	// No blackout: at once.
	c.blackout = 0
	h = history{}
	want(0, 0, tooEarly)
	h.add(good, 1, at(0))
	want(0, 2, usable)
}

func TestParseConfig(t *testing.T) {
	defaults := config{
		outOfBandPeriod: 10 * time.Second,
		blackout:        10 * time.Second,
		expiration:      3 * time.Minute,
		updatePeriod:    time.Second,
		penalty:         1,
	}
	with := func(f func(*config)) *config {
		c := defaults
		f(&c)
		return &c
	}
	for _, tt := range []struct {
		js   string
		want *config
	}{
		{`{}`, &defaults},
		{`{"unknown": 1}`, &defaults},
		{`{"enableOobLoadReport": null, "blackoutPeriod": null}`, &defaults},
		{`{"enableOobLoadReport": true, "oobReportingPeriod": "5s"}`, with(func(c *config) {
			c.outOfBand, c.outOfBandPeriod = true, 5*time.Second
		})},
		{`{"blackoutPeriod": "0s", "weightExpirationPeriod": "60s"}`, with(func(c *config) {
			c.blackout, c.expiration = 0, time.Minute
		})},
		{`{"weightUpdatePeriod": "0.05s"}`, with(func(c *config) { c.updatePeriod = 100 * time.Millisecond })},
		{`{"weightUpdatePeriod": "2.5s"}`, with(func(c *config) { c.updatePeriod = 2500 * time.Millisecond })},
		{`{"errorUtilizationPenalty": 0}`, with(func(c *config) { c.penalty = 0 })},
		{`{"errorUtilizationPenalty": -0.1}`, nil},
		{`{"blackoutPeriod": 10}`, nil},
		{`{"enableOobLoadReport": "yes"}`, nil},
		{`[]`, nil},
	} {
		got, err := builder{}.ParseConfig([]byte(tt.js))
		if tt.want == nil {
			if err == nil {
				t.Errorf("%s: %+v, want an error", tt.js, got)
			}
			continue
		}
		if err != nil || *got.(*config) != *tt.want {
			t.Errorf("%s: %+v, %v; want %+v", tt.js, got, err, tt.want)
		}
	}
}

// TestEndOfReportsMayWait: the end of an endpoint's stream of load reports waits for a report that is being handled, and so
// must not hold what that needs.
func TestEndOfReportsMayWait(t *testing.T) {
	var sc balancer.SubConn
	for name, end := range map[string]func(*endpoint){
		"closed":                    (*endpoint).close,
		"not ready any more":        func(e *endpoint) { e.changed(&sc, connectivity.Idle) },
		"not out of band any more":  func(e *endpoint) { e.reconfigure(&config{}) },
		"another connection's turn": func(e *endpoint) { e.closed = true; e.changed(new(balancer.SubConn), connectivity.Ready) },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(&config{outOfBand: true})
			ended := false
			e.ready, e.stop = []*balancer.SubConn{&sc}, func() {
				if ended = e.mu.TryLock(); ended {
					e.mu.Unlock()
					e.OnLoadReport(&orcapb.OrcaLoadReport{})
				}
			}
			if end(e); !ended {
				t.Error("the end of the stream would wait for itself")
			}
		})
	}
}

// TestOneOfTwoReadyGoes: pick_first has chosen a, and so gives up b, which became ready at the same time.
func TestOneOfTwoReadyGoes(t *testing.T) {
	var a, b balancer.SubConn
	e := newEndpoint(&config{})
	for _, step := range []struct {
		sc    *balancer.SubConn
		state connectivity.State
		want  *balancer.SubConn
	}{
		{&a, connectivity.Ready, &a},
		{&b, connectivity.Ready, &b},
		{&b, connectivity.Shutdown, &a},
		{&b, connectivity.Ready, &b},
		{&a, connectivity.Idle, &b},
		{&a, connectivity.Connecting, &b},
		{&b, connectivity.Idle, nil},
	} {
		if e.changed(step.sc, step.state); e.counts() != step.want {
			t.Errorf("after %v of %p: %p, want %p", step.state, step.sc, e.counts(), step.want)
		}
	}
}
