// SPDX-License-Identifier: Apache-2.0

package weightedroundrobin

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	orcapb "github.com/cncf/xds/go/xds/data/orca/v3"
	orcaservice "github.com/cncf/xds/go/xds/service/orca/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/pickfirst"
	"google.golang.org/grpc/connectivity"
	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/internal/balancer/lbtest"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/resolver"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// channel is one whose SubConns lend themselves to producers, and that keeps metrics.
type channel struct {
	lbtest.ClientConn
	estats.UnimplementedMetricsRecorder

	mu      sync.Mutex
	streams []*stream
	counts  map[string]int64
	weights []float64
	labels  []string
	during  func() // called while a weight is recorded; nil: nothing
}

func (c *channel) MetricsRecorder() estats.MetricsRecorder { return c }

func (c *channel) RecordInt64Count(h *estats.Int64CountHandle, n int64, labels ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[h.Name] += n
	c.labels = labels
}

func (c *channel) RecordFloat64Histo(_ *estats.Float64HistoHandle, v float64, _ ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.weights = append(c.weights, v)
	if c.during != nil {
		c.during()
	}
}

// subConn is what the policy gets for a lbtest.SubConn.
type subConn struct {
	*lbtest.SubConn
	channel *channel
}

func (c *channel) NewSubConn(addrs []resolver.Address, opts balancer.NewSubConnOptions) (balancer.SubConn, error) {
	sc, err := c.ClientConn.NewSubConn(addrs, opts)
	return subConn{sc.(*lbtest.SubConn), c}, err
}

func (sc subConn) GetOrBuildProducer(b balancer.ProducerBuilder) (balancer.Producer, func()) {
	return b.Build(connection{sc})
}

// connection makes RPCs on a SubConn.
type connection struct{ subConn }

func (connection) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	return errors.New("unary")
}

func (c connection) NewStream(ctx context.Context, _ *grpc.StreamDesc, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	s := &stream{ctx: ctx, addr: c.Addr(), reports: make(chan *orcapb.OrcaLoadReport)}
	c.channel.mu.Lock()
	defer c.channel.mu.Unlock()
	c.channel.streams = append(c.channel.streams, s)
	return s, nil
}

type stream struct {
	grpc.ClientStream
	ctx      context.Context
	addr     string
	interval time.Duration
	reports  chan *orcapb.OrcaLoadReport
}

func (s *stream) SendMsg(m any) error {
	s.interval = m.(*orcaservice.OrcaLoadReportRequest).GetReportInterval().AsDuration()
	return nil
}

func (s *stream) CloseSend() error { return nil }

func (s *stream) RecvMsg(m any) error {
	select {
	case r := <-s.reports:
		to := m.(*orcapb.OrcaLoadReport)
		to.CpuUtilization, to.RpsFractional = r.CpuUtilization, r.RpsFractional
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

type fixture struct {
	*testing.T
	cc *channel
	lb balancer.Balancer
}

func newFixture(t *testing.T, js string, addrs ...string) *fixture {
	lbtest.UseLeaf(t, pickfirst.Name)
	cc := &channel{counts: make(map[string]int64)}
	f := &fixture{T: t, cc: cc, lb: builder{}.Build(cc, balancer.BuildOptions{})}
	f.resolve(js, addrs...)
	for _, a := range addrs {
		f.cc.SubConn(a).Report(connectivity.Ready, nil)
	}
	return f
}

func (f *fixture) resolve(js string, addrs ...string) {
	f.Helper()
	config, err := builder{}.ParseConfig([]byte(js))
	if err != nil {
		f.Fatal(err)
	}
	var s resolver.State
	for _, a := range addrs {
		s.Endpoints = append(s.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: a}}})
	}
	s = SetBackendService(s, "backend")
	if err := f.lb.UpdateClientConnState(balancer.ClientConnState{ResolverState: s, BalancerConfig: config}); err != nil {
		f.Fatal(err)
	}
}

func load(qps float64) *orcapb.OrcaLoadReport {
	return &orcapb.OrcaLoadReport{CpuUtilization: 0.5, RpsFractional: qps}
}

// rpcs makes RPCs, each of which brings a report of its server's queries a second, and
// returns how many each server got.
func (f *fixture) rpcs(n int, qps map[string]float64) map[string]int {
	f.Helper()
	last, _ := f.cc.State()
	count := make(map[string]int)
	for range n {
		r, err := last.Picker.Pick(balancer.PickInfo{})
		if err != nil {
			f.Fatal(err)
		}
		addr := r.SubConn.(subConn).Addr()
		count[addr]++
		if r.Done == nil {
			continue
		}
		var info balancer.DoneInfo
		if v, ok := qps[addr]; ok {
			info.ServerLoad = load(v)
		}
		r.Done(info)
	}
	return count
}

// near says whether the counts are right, within what a schedule may be off.
func near(got, want map[string]int) bool {
	for addr, n := range want {
		if d := got[addr] - n; d < -6 || d > 6 {
			return false
		}
	}
	return len(got) == len(want)
}

const quick = `{"blackoutPeriod": "0s", "weightExpirationPeriod": "60s"}`

func TestReportsOfRPCs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, quick, "a", "b")
		if got := f.rpcs(100, nil); !near(got, map[string]int{"a": 50, "b": 50}) {
			t.Errorf("without reports: %v", got)
		}
		f.rpcs(4, map[string]float64{"a": 10, "b": 30})
		if got := f.rpcs(100, nil); !near(got, map[string]int{"a": 50, "b": 50}) {
			t.Errorf("before an update: %v", got)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := f.rpcs(400, nil); !near(got, map[string]int{"a": 100, "b": 300}) {
			t.Errorf("after an update: %v", got)
		}
		// One that is new gets the average, 2/6 of all.
		f.resolve(quick, "a", "b", "c")
		f.cc.SubConn("c").Report(connectivity.Ready, nil)
		if got := f.rpcs(600, nil); !near(got, map[string]int{"a": 100, "b": 300, "c": 200}) {
			t.Errorf("with a new one: %v", got)
		}
		// Another connection begins anew.
		f.cc.SubConn("b").Report(connectivity.Idle, nil)
		f.cc.SubConn("c").Report(connectivity.TransientFailure, errors.New("refused"))
		if got := f.rpcs(10, nil); !maps.Equal(got, map[string]int{"a": 10}) {
			t.Errorf("with one: %v", got)
		}
		time.Sleep(time.Minute)
		f.cc.SubConn("b").Report(connectivity.Ready, nil)
		if got := f.rpcs(100, nil); !near(got, map[string]int{"a": 50, "b": 50}) {
			t.Errorf("when reports are too old: %v", got)
		}
		f.lb.Close()
	})
}

func TestNoTimerWithoutRPCs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, quick, "a", "b")
		last, _ := f.cc.State()
		p := last.Picker.(*picker)
		f.rpcs(4, map[string]float64{"a": 10, "b": 30})
		first := p.schedule.Load()
		time.Sleep(time.Second)
		synctest.Wait()
		second := p.schedule.Load()
		if second == first || p.resting.Load() {
			t.Errorf("after RPCs: updated %t, resting %t", second != first, p.resting.Load())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if p.schedule.Load() != second || !p.resting.Load() {
			t.Errorf("without RPCs: updated %t, resting %t", p.schedule.Load() != second, p.resting.Load())
		}
		// The next RPC must not go by weights that have become too old.
		time.Sleep(time.Hour)
		if got := f.rpcs(100, nil); !near(got, map[string]int{"a": 50, "b": 50}) || p.resting.Load() {
			t.Errorf("after an hour: %v, resting %t", got, p.resting.Load())
		}
		f.lb.Close()
		f.rpcs(1, nil)
	})
}

// TestRecordersRunUnlocked: recorders are the program's, and may take as long as they like.
func TestRecordersRunUnlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, `{"weightUpdatePeriod": "1s"}`, "a", "b")
		defer f.lb.Close()
		lb, n := f.lb.(*weightedRoundRobin), 0
		synctest.Wait() // for the first pickers' weights
		unlocked := func(what string, mu *sync.Mutex) {
			if !mu.TryLock() {
				t.Errorf("a recorder is called with the %s's lock held", what)
				return
			}
			mu.Unlock()
		}
		f.cc.mu.Lock()
		f.cc.during = func() {
			n++
			unlocked("policy", &lb.mu)
			unlocked("picker", &lb.picker.mu)
			lb.ExitIdle() // takes the embedded balancer's locks
		}
		f.cc.mu.Unlock()
		f.rpcs(1, nil)
		time.Sleep(time.Second) // the timer
		synctest.Wait()
		time.Sleep(time.Minute) // it rests
		f.rpcs(1, nil)
		f.cc.SubConn("b").Report(connectivity.Ready, nil) // a new picker
		synctest.Wait()
		if n != 6 {
			t.Errorf("%d weights were recorded", n)
		}
	})
}

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, `{"blackoutPeriod": "10s", "weightExpirationPeriod": "60s"}`, "a", "b")
		last, _ := f.cc.State()
		p := last.Picker.(*picker)
		check := func(what string, want map[string]int64, weights ...float64) {
			t.Helper()
			synctest.Wait() // for the timer
			f.cc.mu.Lock()
			f.cc.counts, f.cc.weights = map[string]int64{}, nil
			f.cc.mu.Unlock()
			p.mu.Lock()
			r := p.updateLocked()
			p.mu.Unlock()
			p.meter.update(r)
			f.cc.mu.Lock()
			defer f.cc.mu.Unlock()
			maps.DeleteFunc(f.cc.counts, func(_ string, n int64) bool { return n == 0 })
			if !maps.Equal(f.cc.counts, want) || len(f.cc.weights) != 2 || f.cc.weights[0] != weights[0] || f.cc.weights[1] != weights[1] {
				t.Errorf("%s: %v, weights %v", what, f.cc.counts, f.cc.weights)
			}
		}
		const fallback, early, late = "grpc.lb.wrr.rr_fallback", "grpc.lb.wrr.endpoint_weight_not_yet_usable", "grpc.lb.wrr.endpoint_weight_stale"
		check("at first", map[string]int64{fallback: 1, early: 2}, 0, 0)
		f.rpcs(4, map[string]float64{"a": 10, "b": 30})
		check("in the blackout", map[string]int64{fallback: 1, early: 2}, 0, 0)
		time.Sleep(10 * time.Second)
		check("after it", map[string]int64{}, 20, 60)
		f.rpcs(20, map[string]float64{"a": 10})
		time.Sleep(50 * time.Second)
		check("too old", map[string]int64{fallback: 1, late: 1}, 20, 0)
		if len(f.cc.labels) != 3 || f.cc.labels[2] != "backend" {
			t.Errorf("labels %q", f.cc.labels)
		}
		f.lb.Close()
	})
}

func TestReportsOutOfBand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const on = `{"enableOobLoadReport": true, "oobReportingPeriod": "5s", "blackoutPeriod": "0s"}`
		f := newFixture(t, on, "a", "b")
		synctest.Wait()
		live := func() (all []*stream) {
			synctest.Wait()
			f.cc.mu.Lock()
			defer f.cc.mu.Unlock()
			for _, s := range f.cc.streams {
				if s.ctx.Err() == nil {
					all = append(all, s)
				}
			}
			return all
		}
		streams := live()
		if len(streams) != 2 || streams[0].interval != 5*time.Second {
			t.Fatalf("%d streams", len(streams))
		}
		for _, s := range streams {
			s.reports <- load(map[string]float64{"a": 10, "b": 30}[s.addr])
		}
		synctest.Wait()
		// What comes with RPCs doesn't count.
		f.rpcs(4, map[string]float64{"a": 1000, "b": 1})
		time.Sleep(time.Second)
		synctest.Wait()
		if got := f.rpcs(400, nil); !near(got, map[string]int{"a": 100, "b": 300}) {
			t.Errorf("after an update: %v", got)
		}
		f.resolve(on, "a", "b")
		if again := live(); len(again) != 2 || again[0] != streams[0] {
			t.Error("an update without a change made new streams")
		}
		f.resolve(`{"enableOobLoadReport": true, "oobReportingPeriod": "7s"}`, "a", "b")
		if again := live(); len(again) != 2 || again[0].interval != 7*time.Second {
			t.Errorf("another period: %d streams", len(again))
		}
		f.cc.SubConn("a").Report(connectivity.Idle, nil)
		if again := live(); len(again) != 1 || again[0].addr != "b" {
			t.Errorf("when one is lost: %d streams", len(again))
		}
		f.resolve(quick, "a", "b")
		if again := live(); len(again) != 0 {
			t.Errorf("switched off: %d streams", len(again))
		}
		f.resolve(on, "b")
		if again := live(); len(again) != 1 {
			t.Errorf("switched on: %d streams", len(again))
		}
		f.lb.Close()
		if again := live(); len(again) != 0 {
			t.Errorf("after Close: %d streams", len(again))
		}
		f.cc.SubConn("b").Report(connectivity.Ready, nil)
		if again := live(); len(again) != 0 {
			t.Errorf("of a late state: %d streams", len(again))
		}
	})
}

func TestBadUpdates(t *testing.T) {
	cc := &channel{counts: make(map[string]int64)}
	lb := builder{}.Build(cc, balancer.BuildOptions{})
	if err := lb.UpdateClientConnState(balancer.ClientConnState{}); !errors.Is(err, balancer.ErrBadResolverState) {
		t.Errorf("no configuration: %v", err)
	}
	lb.ResolverError(errors.New("lost"))
	last, _ := cc.State()
	if _, err := last.Picker.Pick(balancer.PickInfo{}); err == nil || err.Error() != "lost" || last.ConnectivityState != connectivity.TransientFailure {
		t.Errorf("%v, %v", last.ConnectivityState, err)
	}
	lb.Close()
}

func TestPickDoesNotAllocate(t *testing.T) {
	f := newFixture(t, quick, "a", "b")
	report := balancer.DoneInfo{ServerLoad: load(10)}
	last, _ := f.cc.State()
	if n := testing.AllocsPerRun(200, func() {
		r, _ := last.Picker.Pick(balancer.PickInfo{})
		r.Done(report)
	}); n > 0 {
		t.Errorf("%v allocations a pick", n)
	}
	f.lb.Close()
}
