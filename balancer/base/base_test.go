// SPDX-License-Identifier: Apache-2.0

package base_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/lbtest"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"
)

// picker carries what it was built from.
type picker struct {
	balancer.Picker
	info base.PickerBuildInfo
}

type pickers struct{}

func (pickers) Build(info base.PickerBuildInfo) balancer.Picker { return &picker{info: info} }

type fixture struct {
	*testing.T
	cc *lbtest.ClientConn
	lb balancer.Balancer
}

func newFixture(t *testing.T) *fixture {
	cc := &lbtest.ClientConn{}
	b := base.NewBalancerBuilder("test", pickers{}, base.Config{HealthCheck: true})
	if b.Name() != "test" {
		t.Errorf("name %q", b.Name())
	}
	return &fixture{T: t, cc: cc, lb: b.Build(cc, balancer.BuildOptions{})}
}

func (f *fixture) resolve(addrs ...string) error {
	var s resolver.State
	for _, a := range addrs {
		s.Addresses = append(s.Addresses, resolver.Address{Addr: a})
	}
	return f.lb.UpdateClientConnState(balancer.ClientConnState{ResolverState: s})
}

// want checks the last state and over which addresses its picker picks.
func (f *fixture) want(state connectivity.State, addrs ...string) {
	f.Helper()
	last, _ := f.cc.State()
	if last.ConnectivityState != state {
		f.Errorf("state %v, want %v", last.ConnectivityState, state)
	}
	p, ok := last.Picker.(*picker)
	if !ok {
		if len(addrs) > 0 {
			f.Errorf("picker %v, want one over %q", last.Picker, addrs)
		}
		return
	}
	var got []string
	for info := range maps.Values(p.info.ReadySCs) {
		got = append(got, info.Address.Addr)
	}
	slices.Sort(got)
	if !slices.Equal(got, addrs) {
		f.Errorf("picker over %q, want %q", got, addrs)
	}
}

// wantErr checks what the last picker says.
func (f *fixture) wantErr(texts ...string) {
	f.Helper()
	last, _ := f.cc.State()
	_, err := last.Picker.Pick(balancer.PickInfo{})
	if _, ok := status.FromError(err); ok {
		f.Errorf("Pick: %v, which has a status", err)
	}
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			f.Errorf("Pick: %v, want %q", err, text)
		}
	}
}

func TestConnects(t *testing.T) {
	f := newFixture(t)
	if err := f.resolve("a", "b", "a"); err != nil {
		t.Fatal(err)
	}
	if n := len(f.cc.SubConns()); n != 2 {
		t.Fatalf("%d SubConns", n)
	}
	for _, sc := range f.cc.SubConns() {
		if sc.Connects() != 1 || !sc.Options.HealthCheckEnabled {
			t.Errorf("%s: %d connects, %+v", sc.Addr(), sc.Connects(), sc.Options)
		}
	}
	f.want(connectivity.Connecting)
	f.cc.SubConn("a").Report(connectivity.Connecting, nil)
	f.cc.SubConn("a").Report(connectivity.Ready, nil)
	f.want(connectivity.Ready, "a")
	f.cc.SubConn("b").Report(connectivity.Ready, nil)
	f.want(connectivity.Ready, "a", "b")
	f.cc.SubConn("a").Report(connectivity.Idle, nil)
	f.want(connectivity.Ready, "b")
	if n := f.cc.SubConn("a").Connects(); n != 2 {
		t.Errorf("%d connects after Idle", n)
	}
	f.lb.ExitIdle()
	f.lb.Close()
}

func TestAddressesChange(t *testing.T) {
	f := newFixture(t)
	_ = f.resolve("a", "b")
	a := f.cc.SubConn("a")
	a.Report(connectivity.Ready, nil)
	_ = f.resolve("b", "c")
	f.want(connectivity.Connecting)
	if !a.IsShutdown() || f.cc.SubConn("b").IsShutdown() || f.cc.SubConn("c") == nil {
		t.Error("the SubConns do not follow the addresses")
	}
	_, before := f.cc.State()
	a.Report(connectivity.Shutdown, nil)
	a.Report(connectivity.Ready, nil)
	if _, after := f.cc.State(); after != before {
		t.Error("a SubConn that is gone still counts")
	}
}

func TestPickerSeesNewBalancerAttributes(t *testing.T) {
	f := newFixture(t)
	_ = f.resolve("a")
	f.cc.SubConn("a").Report(connectivity.Ready, nil)
	newer := resolver.Address{Addr: "a"}
	//lint:ignore SA1019 balancers still read it
	newer.BalancerAttributes = attributes.New("weight", 7)
	_ = f.lb.UpdateClientConnState(balancer.ClientConnState{
		ResolverState: resolver.State{Addresses: []resolver.Address{newer}},
	})
	last, _ := f.cc.State()
	for _, info := range last.Picker.(*picker).info.ReadySCs {
		//lint:ignore SA1019 balancers still read it
		if got := info.Address.BalancerAttributes.Value("weight"); got != 7 {
			t.Errorf("weight %v", got)
		}
	}
	if n := len(f.cc.SubConns()); n != 1 {
		t.Errorf("%d SubConns", n)
	}
}

func TestFailureStaysUntilReady(t *testing.T) {
	f := newFixture(t)
	_ = f.resolve("a")
	a := f.cc.SubConn("a")
	a.Report(connectivity.Connecting, nil)
	a.Report(connectivity.TransientFailure, errors.New("refused"))
	f.want(connectivity.TransientFailure)
	f.wantErr("last connection error: refused")
	a.Report(connectivity.Idle, nil)
	a.Report(connectivity.Connecting, nil)
	f.want(connectivity.TransientFailure)
	if n := a.Connects(); n != 2 {
		t.Errorf("%d connects", n)
	}
	a.Report(connectivity.TransientFailure, errors.New("refused again"))
	f.wantErr("refused again")
	a.Report(connectivity.Ready, nil)
	f.want(connectivity.Ready, "a")
}

func TestResolverErrors(t *testing.T) {
	f := newFixture(t)
	f.lb.ResolverError(status.Error(codes.NotFound, "no such host"))
	f.want(connectivity.TransientFailure)
	f.wantErr("no such host")

	if err := f.resolve(); !errors.Is(err, balancer.ErrBadResolverState) {
		t.Errorf("no addresses: %v", err)
	}
	f.wantErr("zero addresses")

	_ = f.resolve("a")
	a := f.cc.SubConn("a")
	a.Report(connectivity.Ready, nil)
	_, before := f.cc.State()
	f.lb.ResolverError(errors.New("flaky"))
	if _, after := f.cc.State(); after != before {
		t.Error("a resolver error changes what works")
	}
	a.Report(connectivity.TransientFailure, fmt.Errorf("handshake: %w", status.Error(codes.PermissionDenied, "refused")))
	f.wantErr("refused", "flaky")

	if err := f.resolve(); !errors.Is(err, balancer.ErrBadResolverState) || !a.IsShutdown() {
		t.Errorf("no addresses any more: %v, shut down %t", err, a.IsShutdown())
	}
	f.want(connectivity.TransientFailure)
}

func TestErrPicker(t *testing.T) {
	want := errors.New("no")
	if _, err := base.NewErrPicker(want).Pick(balancer.PickInfo{}); err != want {
		t.Errorf("%v", err)
	}
}
