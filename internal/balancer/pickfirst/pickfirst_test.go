// SPDX-License-Identifier: Apache-2.0

package pickfirst

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/experimental/balancer/weight"
	"google.golang.org/grpc/internal/balancer/lbtest"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

const (
	idle       = connectivity.Idle
	connecting = connectivity.Connecting
	ready      = connectivity.Ready
	failure    = connectivity.TransientFailure
)

var errRefused = fmt.Errorf("handshake: %w", status.Error(codes.PermissionDenied, "refused"))

// fixture is a balancer on a channel that connects to nothing.
type fixture struct {
	*testing.T
	cc *lbtest.ClientConn
	b  *pickFirst
}

// run runs a test in a bubble: the clock moves when all wait.
func run(t *testing.T, test func(f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cc := &lbtest.ClientConn{}
		b := Builder{}.Build(cc, balancer.BuildOptions{}).(*pickFirst)
		u := 1.0
		b.random = func() float64 { // the last is the first
			u /= 2
			return u
		}
		test(&fixture{t, cc, b})
		b.Close()
	})
}

func endpoints(addrs ...string) (s resolver.State) {
	for _, a := range addrs {
		s.Endpoints = append(s.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: a}}})
	}
	return s
}

func (f *fixture) resolve(addrs ...string) {
	f.Helper()
	if err := f.b.UpdateClientConnState(balancer.ClientConnState{ResolverState: endpoints(addrs...)}); err != nil {
		f.Errorf("UpdateClientConnState: %v", err)
	}
}

// state checks the balancer's state, and what its picker does.
func (f *fixture) state(want connectivity.State) balancer.Picker {
	f.Helper()
	synctest.Wait()
	s, _ := f.cc.State()
	if s.ConnectivityState != want {
		f.Errorf("state %v, want %v", s.ConnectivityState, want)
	}
	return s.Picker
}

// fails checks that RPCs fail with the text.
func (f *fixture) fails(text string) {
	f.Helper()
	_, err := f.state(failure).Pick(balancer.PickInfo{})
	if err == nil || !strings.Contains(err.Error(), text) {
		f.Errorf("Pick: %v, want %q", err, text)
	}
}

// tried checks which addresses have been connected to, in the order of their making.
func (f *fixture) tried(want ...string) {
	f.Helper()
	synctest.Wait()
	var got []string
	for _, sc := range f.cc.SubConns() {
		if sc.Connects() > 0 {
			got = append(got, sc.Addr())
		}
	}
	if !slices.Equal(got, want) {
		f.Errorf("connected to %q, want %q", got, want)
	}
}

func (f *fixture) report(addr string, s connectivity.State) {
	f.Helper()
	sc := f.cc.SubConn(addr)
	if sc == nil {
		f.Fatalf("no SubConn for %q", addr)
	}
	var err error
	if s == failure {
		err = errRefused
	}
	sc.Report(s, err)
}

func TestFirstWorks(t *testing.T) {
	run(t, func(f *fixture) {
		f.resolve("a:1", "b:1")
		f.state(connecting)
		f.report("a:1", connecting)
		f.report("a:1", ready)
		p := f.state(ready)
		if r, err := p.Pick(balancer.PickInfo{}); err != nil || r.SubConn != balancer.SubConn(f.cc.SubConn("a:1")) {
			f.Errorf("picked %v, %v", r.SubConn, err)
		}
		time.Sleep(time.Hour)
		f.tried("a:1")
	})
}

func TestHappyEyeballs(t *testing.T) {
	run(t, func(f *fixture) {
		f.resolve("a:1", "b:1", "c:1")
		f.report("a:1", connecting)
		f.tried("a:1")
		time.Sleep(249 * time.Millisecond)
		f.tried("a:1")
		time.Sleep(2 * time.Millisecond)
		f.tried("a:1", "b:1")
		f.report("b:1", connecting)
		f.report("b:1", failure) // it does not have to wait for the third
		f.tried("a:1", "b:1", "c:1")
		f.report("c:1", connecting)
		f.state(connecting)
		f.report("a:1", ready)
		f.state(ready)
		for _, a := range []string{"b:1", "c:1"} {
			if !f.cc.SubConn(a).IsShutdown() {
				f.Errorf("%s is not given up", a)
			}
		}
		f.report("c:1", ready) // too late
		if p := f.state(ready); p.(*picker).sc != balancer.SubConn(f.cc.SubConn("a:1")) {
			f.Error("the second to be ready is picked")
		}
	})
}

func TestAllFail(t *testing.T) {
	run(t, func(f *fixture) {
		f.resolve("a:1", "b:1")
		for _, a := range []string{"a:1", "b:1"} {
			f.report(a, connecting)
			f.report(a, failure)
		}
		f.fails("refused")
		if n := f.cc.Resolves(); n != 1 {
			f.Errorf("asked to resolve %d times", n)
		}
		// Each goes on by itself; the state stays.
		for range 2 {
			for _, a := range []string{"a:1", "b:1"} {
				before := f.cc.SubConn(a).Connects()
				f.report(a, idle)
				if got := f.cc.SubConn(a).Connects(); got != before+1 {
					f.Errorf("%s: %d attempts, %d before its back-off was over", a, got, before)
				}
				f.report(a, connecting)
				f.state(failure)
				f.report(a, failure)
			}
		}
		if n := f.cc.Resolves(); n != 3 {
			f.Errorf("asked to resolve %d times, want once for each round", n)
		}
		// A new list is tried at once, and TransientFailure stays until one is ready.
		f.resolve("b:1", "c:1")
		f.state(failure)
		f.report("c:1", connecting)
		f.state(failure)
		f.report("c:1", ready)
		f.state(ready)
	})
}

// A resolver that answers ResolveNow at once, with the addresses it has, must not be asked again
// for that: the subchannels still pause.
func TestAnswerDuringBackoff(t *testing.T) {
	run(t, func(f *fixture) {
		f.resolve("a:1", "b:1")
		for _, a := range []string{"a:1", "b:1"} {
			f.report(a, connecting)
			f.report(a, failure)
		}
		for range 3 {
			f.resolve("b:1", "a:1")
			f.fails("refused")
		}
		if n := f.cc.Resolves(); n != 1 {
			f.Errorf("asked to resolve %d times, want once: nothing was tried since", n)
		}
		f.resolve("a:1", "c:1") // one of them is new, and fails
		f.report("c:1", connecting)
		f.report("c:1", failure)
		if n := f.cc.Resolves(); n != 2 {
			f.Errorf("asked to resolve %d times, want 2", n)
		}
	})
}

func TestLostConnection(t *testing.T) {
	run(t, func(f *fixture) {
		f.resolve("a:1", "b:1")
		f.report("a:1", connecting)
		f.report("a:1", ready)
		f.report("a:1", idle)
		p := f.state(idle)
		time.Sleep(time.Hour)
		if n := f.cc.SubConn("a:1").Connects(); n != 1 {
			f.Errorf("connected %d times without an RPC", n)
		}
		for range 2 {
			if _, err := p.Pick(balancer.PickInfo{}); !errors.Is(err, balancer.ErrNoSubConnAvailable) {
				f.Errorf("Pick: %v", err)
			}
		}
		f.state(connecting)
		if n := f.cc.SubConn("a:1").Connects(); n != 2 {
			f.Errorf("connected %d times", n)
		}
	})
}

// A subchannel that may have several connections (gRFC A105) can be connecting, or in
// back-off, when it has lost the last one: all addresses are tried then.
func TestLostWhileConnecting(t *testing.T) {
	run(t, func(f *fixture) {
		f.resolve("a:1", "b:1")
		f.report("a:1", connecting)
		f.report("a:1", ready)
		f.report("a:1", connecting)
		f.state(connecting)
		time.Sleep(attemptDelay)
		f.tried("a:1", "b:1")
		f.report("b:1", connecting)
		f.report("b:1", ready)
		f.state(ready)
	})
	run(t, func(f *fixture) {
		f.resolve("a:1", "b:1")
		f.report("a:1", connecting)
		f.report("a:1", ready)
		f.report("a:1", failure)
		f.state(connecting)
		f.tried("a:1", "b:1")
		f.report("b:1", connecting)
		f.report("b:1", failure)
		f.fails("refused")
	})
}

func TestNewAddresses(t *testing.T) {
	run(t, func(f *fixture) {
		f.resolve("a:1", "b:1")
		f.report("a:1", connecting)
		f.report("a:1", ready)
		f.resolve("c:1", "a:1")
		f.state(ready)
		if f.cc.SubConn("a:1").IsShutdown() {
			t.Error("the connection in use is gone though its address is there")
		}
		f.resolve("c:1")
		f.state(connecting)
		if !f.cc.SubConn("a:1").IsShutdown() {
			t.Error("the connection in use stays though its address is gone")
		}
		f.report("c:1", ready)
		f.state(ready)
	})
}

func TestNoAddresses(t *testing.T) {
	run(t, func(f *fixture) {
		f.b.ResolverError(status.Error(codes.NotFound, "no name"))
		f.fails("no name")
		f.resolve("a:1")
		f.state(connecting)
		f.b.ResolverError(errors.New("no name"))
		f.state(connecting)
		if err := f.b.UpdateClientConnState(balancer.ClientConnState{}); !errors.Is(err, balancer.ErrBadResolverState) {
			f.Errorf("no addresses: %v", err)
		}
		f.state(failure)
		f.resolve("a:1")
		f.state(connecting)
	})
}

// TestShuffleByWeight draws often enough for the odds to show.
func TestShuffleByWeight(t *testing.T) {
	b := Builder{}.Build(&lbtest.ClientConn{}, balancer.BuildOptions{}).(*pickFirst)
	source := rand.New(rand.NewPCG(1, 2))
	b.random = source.Float64
	for weights, want := range map[bool]float64{true: 0.75, false: 0.5} {
		b.weights = weights
		heavy := 0
		const draws = 10000
		for range draws {
			s := endpoints("a:1", "b:1")
			s.Endpoints[1] = weight.Set(s.Endpoints[1], weight.EndpointInfo{Weight: 3})
			if b.shuffle(s.Endpoints)[0].Addresses[0].Addr == "b:1" {
				heavy++
			}
		}
		if got := float64(heavy) / draws; math.Abs(got-want) > 0.03 {
			t.Errorf("weights count %t: three times the weight is first in %v, want %v", weights, got, want)
		}
	}
}

func TestShuffle(t *testing.T) {
	run(t, func(f *fixture) {
		c, err := Builder{}.ParseConfig(json.RawMessage(`{"shuffleAddressList": true}`))
		if err != nil {
			f.Fatal(err)
		}
		s := endpoints("a:1", "b:1", "c:1")
		if err := f.b.UpdateClientConnState(balancer.ClientConnState{ResolverState: s, BalancerConfig: c}); err != nil {
			f.Error(err)
		}
		f.tried("c:1")
		if s.Endpoints[0].Addresses[0].Addr != "a:1" {
			t.Error("the resolver's list was changed")
		}
	})
	if _, err := (Builder{}).ParseConfig(json.RawMessage(`{"shuffleAddressList": 1}`)); err == nil {
		t.Error("no error for a bad configuration")
	}
}

func TestHealth(t *testing.T) {
	run(t, func(f *fixture) {
		s := EnableHealthListener(endpoints("a:1"))
		if err := f.b.UpdateClientConnState(balancer.ClientConnState{ResolverState: s}); err != nil {
			f.Error(err)
		}
		sc := f.cc.SubConn("a:1")
		f.report("a:1", ready)
		f.state(connecting)
		sc.ReportHealth(ready, nil)
		f.state(ready)
		sc.ReportHealth(failure, status.Error(codes.NotFound, "not serving"))
		f.fails("not serving")
		f.report("a:1", idle)
		f.state(idle)
		sc.ReportHealth(ready, nil) // too late
		f.state(idle)
	})
}

func TestOrder(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"a:1 b:1 a:1", "a:1 b:1"},
		{"[::1]:1 [::2]:1 [::3]:1 1.1.1.1:1 2.2.2.2:1", "[::1]:1 1.1.1.1:1 [::2]:1 2.2.2.2:1 [::3]:1"},
		{"1.1.1.1:1 name:1 [::1]:1 [::ffff:2.2.2.2]:1", "1.1.1.1:1 name:1 [::1]:1 [::ffff:2.2.2.2]:1"},
		{"", ""},
	} {
		var got []string
		for _, a := range order(endpoints(strings.Fields(tt.in)...).Endpoints) {
			got = append(got, a.Addr)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %q", tt.in, got)
		}
	}
}
