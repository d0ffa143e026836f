// SPDX-License-Identifier: Apache-2.0

package weightedaggregator

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/lbtest"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/wrr"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

const (
	idle       = connectivity.Idle
	connecting = connectivity.Connecting
	ready      = connectivity.Ready
	failure    = connectivity.TransientFailure
)

// inTurn gives each item as many turns as it has weight.
type inTurn struct {
	items []any
	next  int
}

func (w *inTurn) Add(item any, weight int64) {
	for range weight {
		w.items = append(w.items, item)
	}
}

func (w *inTurn) Next() any {
	w.next++
	return w.items[w.next%len(w.items)]
}

func newAggregator() (*lbtest.ClientConn, *Aggregator) {
	cc := &lbtest.ClientConn{}
	a := New(cc, nil, func() wrr.WRR { return &inTurn{} })
	a.Start()
	return cc, a
}

// state has a picker that returns the text as an error.
func state(s connectivity.State, text string) balancer.State {
	return balancer.State{ConnectivityState: s, Picker: base.NewErrPicker(errors.New(text))}
}

// want checks the last state, and how often its picker picks what in n picks.
func want(t *testing.T, cc *lbtest.ClientConn, s connectivity.State, n int, picks map[string]int) {
	t.Helper()
	last, _ := cc.State()
	if last.ConnectivityState != s {
		t.Errorf("state %v, want %v", last.ConnectivityState, s)
	}
	got := make(map[string]int)
	for range n {
		_, err := last.Picker.Pick(balancer.PickInfo{})
		got[err.Error()]++
	}
	if !maps.Equal(got, picks) {
		t.Errorf("picks %v, want %v", got, picks)
	}
}

func TestWeights(t *testing.T) {
	cc, a := newAggregator()
	a.Add("a", 1)
	a.Add("b", 3)
	a.Add("c", 0)
	a.Add("a", 9) // is there already
	want(t, cc, -1, 0, map[string]int{})
	a.UpdateState("a", state(ready, "A"))
	want(t, cc, ready, 2, map[string]int{"A": 2})
	a.UpdateState("b", state(ready, "B"))
	a.UpdateState("c", state(ready, "C"))
	want(t, cc, ready, 8, map[string]int{"A": 2, "B": 6})
	a.UpdateWeight("b", 1)
	a.UpdateWeight("none", 1)
	a.UpdateState("none", state(ready, "none"))
	a.UpdateState("c", state(failure, "C"))
	want(t, cc, ready, 8, map[string]int{"A": 4, "B": 4})
	a.Remove("a")
	a.Remove("b")
	a.UpdateState("c", state(ready, "C"))
	want(t, cc, ready, 2, map[string]int{"C": 2})
	a.Remove("c")
	a.PauseStateUpdates()
	a.NeedUpdateStateOnResume()
	a.ResumeStateUpdates()
	want(t, cc, failure, 1, map[string]int{errEmpty.Error(): 1})
}

func TestWholeState(t *testing.T) {
	for _, tt := range []struct {
		a, b, c connectivity.State
		want    connectivity.State
		picks   []string
	}{
		{ready, connecting, failure, ready, []string{"a"}},
		{ready, ready, idle, ready, []string{"a", "b"}},
		{connecting, idle, failure, connecting, []string{"a"}},
		{failure, idle, failure, idle, []string{"b"}},
		{failure, failure, failure, failure, []string{"a", "b", "c"}},
		{connectivity.Shutdown, failure, failure, failure, []string{"b", "c"}},
		{connectivity.Shutdown, connectivity.Shutdown, connectivity.Shutdown, failure, []string{"a", "b", "c"}},
	} {
		cc, a := newAggregator()
		for id, s := range map[string]connectivity.State{"a": tt.a, "b": tt.b, "c": tt.c} {
			a.Add(id, 1)
			a.UpdateState(id, state(s, id))
		}
		picks := make(map[string]int)
		for p := range slices.Values(tt.picks) {
			picks[p] = 2
		}
		want(t, cc, tt.want, 2*len(picks), picks)
	}
}

func TestFailureStays(t *testing.T) {
	cc, a := newAggregator()
	a.Add("a", 1)
	a.UpdateState("a", state(failure, "refused"))
	a.UpdateState("a", state(connecting, "again"))
	want(t, cc, failure, 1, map[string]int{"refused": 1})
	a.UpdateState("a", state(failure, "refused again"))
	want(t, cc, failure, 1, map[string]int{"refused again": 1})
	a.UpdateState("a", state(idle, "idle"))
	want(t, cc, idle, 1, map[string]int{"idle": 1})
	a.UpdateState("a", state(connecting, "now"))
	want(t, cc, connecting, 1, map[string]int{"now": 1})
}

func TestPause(t *testing.T) {
	cc, a := newAggregator()
	count := func() int {
		_, n := cc.State()
		return n
	}
	a.Add("a", 1)
	a.PauseStateUpdates()
	a.ResumeStateUpdates()
	if n := count(); n != 0 {
		t.Errorf("%d reports of nothing", n)
	}
	a.PauseStateUpdates()
	a.UpdateState("a", state(connecting, "A"))
	a.UpdateState("a", state(ready, "A"))
	if n := count(); n != 0 {
		t.Errorf("%d reports in a pause", n)
	}
	a.ResumeStateUpdates()
	if n := count(); n != 1 {
		t.Errorf("%d reports after a pause", n)
	}
	a.PauseStateUpdates()
	a.NeedUpdateStateOnResume()
	a.ResumeStateUpdates()
	if n := count(); n != 2 {
		t.Errorf("%d reports", n)
	}
	a.Stop()
	a.Add("a", 1)
	a.UpdateState("a", state(ready, "A"))
	if n := count(); n != 2 {
		t.Errorf("%d reports, some after Stop", n)
	}
	a.Start()
	a.UpdateState("a", state(ready, "A"))
	if n := count(); n != 3 {
		t.Errorf("%d reports after another Start", n)
	}
}
