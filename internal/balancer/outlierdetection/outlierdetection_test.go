// SPDX-License-Identifier: Apache-2.0

package outlierdetection

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/balancer"
	_ "google.golang.org/grpc/balancer/roundrobin"
	"google.golang.org/grpc/connectivity"
	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/internal/balancer/lbtest"
	_ "google.golang.org/grpc/internal/balancer/pickfirst"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/resolver"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// channel records metrics.
type channel struct {
	lbtest.ClientConn
	recorder recorder
}

func (c *channel) MetricsRecorder() estats.MetricsRecorder { return &c.recorder }

type recorder struct {
	estats.UnimplementedMetricsRecorder
	counts map[string]int64
	during func() // nil: nothing
}

func (r *recorder) RecordInt64Count(h *estats.Int64CountHandle, n int64, labels ...string) {
	r.counts[fmt.Sprint(h.Descriptor().Name, labels)] += n
	if r.during != nil {
		r.during()
	}
}

// fixture is a round_robin below the policy, with endpoints that are ready.
type fixture struct {
	*testing.T
	cc    *channel
	lb    *policy
	addrs []string
}

func inBubble(t *testing.T, endpoints int, config string, test func(f *fixture)) {
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{T: t, cc: &channel{recorder: recorder{counts: map[string]int64{}}}}
		f.lb = builder{}.Build(f.cc, balancer.BuildOptions{Target: resolver.Target{URL: url.URL{Scheme: "xds", Path: "/t"}}}).(*policy)
		f.lb.roll = func() uint32 { return 0 }
		defer f.lb.Close()
		for i := range endpoints {
			f.addrs = append(f.addrs, fmt.Sprint("e", i))
		}
		f.update(config)
		for _, a := range f.addrs {
			f.ready(a)
		}
		test(f)
	})
}

func (f *fixture) ready(addr string) {
	f.Helper()
	sc := f.cc.SubConn(addr)
	sc.Report(connectivity.Connecting, nil)
	sc.Report(connectivity.Ready, nil)
	sc.ReportHealth(connectivity.Ready, nil)
}

func (f *fixture) update(config string) {
	f.Helper()
	c, err := builder{}.ParseConfig(json.RawMessage(config))
	if err != nil {
		f.Fatal(err)
	}
	var list []resolver.Endpoint
	for _, a := range f.addrs {
		list = append(list, resolver.Endpoint{Addresses: []resolver.Address{{Addr: a}}})
	}
	if err := f.lb.UpdateClientConnState(balancer.ClientConnState{ResolverState: resolver.State{Endpoints: list}, BalancerConfig: c}); err != nil {
		f.Fatal(err)
	}
}

// rpcs makes RPCs, n for each endpoint in use; those to bad fail. It returns how many there are
// to each.
func (f *fixture) rpcs(n int, bad string) map[string]int {
	f.Helper()
	state, _ := f.cc.State()
	got := make(map[string]int)
	for range n * len(f.addrs) {
		r, err := state.Picker.Pick(balancer.PickInfo{Ctx: f.Context()})
		if err != nil {
			f.Fatal(err)
		}
		addr := r.SubConn.(*lbtest.SubConn).Addr()
		got[addr]++
		if r.Done == nil {
			continue
		}
		var failure error
		if addr == bad {
			failure = errors.New("bad")
		}
		r.Done(balancer.DoneInfo{Err: failure, BytesSent: true})
	}
	return got
}

const byFailures = `{
	"interval": "10s", "baseEjectionTime": "25s", "maxEjectionTime": "60s", "maxEjectionPercent": 50,
	"failurePercentageEjection": {"threshold": 50, "minimumHosts": 3, "requestVolume": 5},
	"childPolicy": [{"round_robin": {}}]
}`

// pass lets an interval pass.
func (f *fixture) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestA50FailurePercentage(t *testing.T) {
	inBubble(t, 4, byFailures, func(f *fixture) {
		if got := f.rpcs(10, "e1"); len(got) != 4 {
			f.Errorf("%v", got)
		}
		f.pass(10 * time.Second)
		if got := f.rpcs(10, ""); got["e1"] != 0 || len(got) != 3 {
			f.Errorf("the outlier is in use: %v", got)
		}
		// It comes back after its time, at the end of an interval.
		f.pass(25 * time.Second)
		if got := f.rpcs(1, ""); got["e1"] != 0 {
			f.Errorf("%v", got)
		}
		f.pass(10 * time.Second)
		if got := f.rpcs(10, "e1"); got["e1"] == 0 {
			f.Errorf("%v", got)
		}
		// The second time is twice as long.
		f.pass(5 * time.Second)
		f.rpcs(10, "e1")
		f.pass(5 * time.Second)
		f.pass(45 * time.Second)
		if got := f.rpcs(1, ""); got["e1"] != 0 {
			f.Errorf("%v", got)
		}
		if n := f.cc.recorder.counts["grpc.lb.outlier_detection.ejections_enforced[xds:///t failure_percentage ]"]; n != 2 {
			f.Errorf("%v", f.cc.recorder.counts)
		}
	})
}

// TestRecordersRunUnlocked: recorders are the program's, and may take as long as they like.
func TestRecordersRunUnlocked(t *testing.T) {
	inBubble(t, 4, byFailures, func(f *fixture) {
		f.cc.recorder.during = func() {
			if !f.lb.mu.TryLock() {
				f.Error("a recorder is called with the lock held")
				return
			}
			f.lb.mu.Unlock()
		}
		f.rpcs(10, "e1")
		f.pass(10 * time.Second)
		if len(f.cc.recorder.counts) == 0 {
			f.Error("nothing was recorded")
		}
	})
}

func TestA50SuccessRate(t *testing.T) {
	const config = `{
		"interval": "10s", "maxEjectionPercent": 100,
		"successRateEjection": {"stdevFactor": 1000, "minimumHosts": 5, "requestVolume": 10},
		"childPolicy": [{"round_robin": {}}]
	}`
	inBubble(t, 5, config, func(f *fixture) {
		f.rpcs(10, "e0")
		f.pass(10 * time.Second)
		if got := f.rpcs(10, ""); got["e0"] != 0 {
			f.Errorf("%v", got)
		}
	})
	inBubble(t, 4, config, func(f *fixture) { // too few of them
		f.rpcs(10, "e0")
		f.pass(10 * time.Second)
		if got := f.rpcs(10, ""); got["e0"] == 0 {
			f.Errorf("%v", got)
		}
	})
}

func TestA50Limits(t *testing.T) {
	inBubble(t, 4, `{"interval":"10s","maxEjectionPercent":0,"failurePercentageEjection":{"minimumHosts":1,"requestVolume":1},"childPolicy":[{"round_robin":{}}]}`, func(f *fixture) {
		f.rpcs(10, "e1")
		f.pass(10 * time.Second)
		if got := f.rpcs(10, ""); got["e1"] == 0 {
			f.Errorf("%v", got)
		}
		if n := f.cc.recorder.counts["grpc.lb.outlier_detection.ejections_unenforced[xds:///t failure_percentage max_ejection_overflow ]"]; n != 1 {
			f.Errorf("%v", f.cc.recorder.counts)
		}
	})
	inBubble(t, 4, `{"interval":"10s","maxEjectionPercent":100,"failurePercentageEjection":{"enforcementPercentage":0,"minimumHosts":1,"requestVolume":1},"childPolicy":[{"round_robin":{}}]}`, func(f *fixture) {
		f.rpcs(10, "e1")
		f.pass(10 * time.Second)
		if n := f.cc.recorder.counts["grpc.lb.outlier_detection.ejections_unenforced[xds:///t failure_percentage enforcement_percentage ]"]; n != 1 {
			f.Errorf("%v", f.cc.recorder.counts)
		}
	})
}

func TestA50Updates(t *testing.T) {
	inBubble(t, 4, byFailures, func(f *fixture) {
		f.rpcs(10, "e1")
		f.pass(10 * time.Second)
		f.update(byFailures) // what is known of endpoints stays
		if got := f.rpcs(10, ""); got["e1"] != 0 {
			f.Errorf("%v", got)
		}
		// One that connects anew is left out too.
		sc := f.cc.SubConn("e1")
		sc.Report(connectivity.Idle, nil)
		f.ready("e1")
		synctest.Wait()
		if got := f.rpcs(10, ""); got["e1"] != 0 {
			f.Errorf("%v", got)
		}
		// Without a way to find outliers all are in use, and nothing is counted.
		f.update(`{"childPolicy": [{"round_robin": {}}]}`)
		synctest.Wait()
		if got := f.rpcs(10, ""); got["e1"] == 0 {
			f.Errorf("%v", got)
		}
		state, _ := f.cc.State()
		if r, err := state.Picker.Pick(balancer.PickInfo{}); err != nil || r.Done != nil {
			f.Errorf("it counts: %+v, %v", r, err)
		}
	})
}

func TestPickAllocates(t *testing.T) {
	inBubble(t, 4, byFailures, func(f *fixture) {
		state, _ := f.cc.State()
		if n := testing.AllocsPerRun(100, func() {
			r, _ := state.Picker.Pick(balancer.PickInfo{})
			r.Done(balancer.DoneInfo{BytesSent: true})
		}); n != 0 {
			f.Errorf("%v allocations a pick", n)
		}
	})
}

func TestParseConfig(t *testing.T) {
	for js, ok := range map[string]bool{
		`{"childPolicy":[{"round_robin":{}}]}`: true,
		byFailures:                             true,
		`{}`:                                   false,
		`[]`:                                   false,
		`{"childPolicy":[{"unknown":{}}]}`:     false,
		`{"interval":"-1s","childPolicy":[{"round_robin":{}}]}`:                                          false,
		`{"maxEjectionPercent":101,"childPolicy":[{"round_robin":{}}]}`:                                  false,
		`{"successRateEjection":{"enforcementPercentage":101},"childPolicy":[{"round_robin":{}}]}`:       false,
		`{"failurePercentageEjection":{"threshold":101},"childPolicy":[{"round_robin":{}}]}`:             false,
		`{"failurePercentageEjection":{"enforcementPercentage":101},"childPolicy":[{"round_robin":{}}]}`: false,
		`{"successRateEjection":{},"failurePercentageEjection":{},"childPolicy":[{"round_robin":{}}]}`:   true,
		`{"baseEjectionTime":"x","childPolicy":[{"round_robin":{}}]}`:                                    false,
	} {
		c, err := builder{}.ParseConfig(json.RawMessage(js))
		if (err == nil) != ok {
			t.Errorf("%s: %+v, %v", js, c, err)
		}
	}
	c, err := builder{}.ParseConfig(json.RawMessage(`{"successRateEjection":{},"failurePercentageEjection":{"threshold":1},"childPolicy":[{"round_robin":{}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	got := c.(*Config)
	if *got.SuccessRate != (SuccessRate{1900, 100, 5, 100}) || *got.FailurePercentage != (FailurePercentage{1, 100, 5, 50}) ||
		got.Interval != 10*time.Second || got.BaseEjectionTime != 30*time.Second || got.MaxEjectionTime != 300*time.Second || got.MaxEjectionPercent != 10 {
		t.Errorf("%+v", got)
	}
}

// TestListedTwice: an endpoint that the resolver lists twice is one, and stays ejected.
func TestListedTwice(t *testing.T) {
	inBubble(t, 4, byFailures, func(f *fixture) {
		f.addrs = append(f.addrs, "e1")
		f.update(byFailures)
		if n := len(f.lb.endpoints); n != 4 {
			f.Errorf("%d endpoints", n)
		}
		f.rpcs(10, "e1")
		f.pass(10 * time.Second)
		f.update(byFailures)
		synctest.Wait()
		if got := f.rpcs(10, ""); got["e1"] != 0 {
			f.Errorf("%v", got)
		}
	})
}
