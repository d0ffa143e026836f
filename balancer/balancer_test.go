// SPDX-License-Identifier: Apache-2.0

package balancer

import (
	"testing"

	"google.golang.org/grpc/connectivity"
)

type named struct {
	Builder
	name string
}

func (n *named) Name() string { return n.name }

func TestRegistry(t *testing.T) {
	lower, upper := &named{name: "test_policy"}, &named{name: "Test_Policy"}
	for _, tt := range []struct {
		caseSensitive bool
		lower, upper  Builder
	}{
		{true, lower, upper},
		{false, upper, upper}, // the last one
	} {
		r := &registry{caseSensitive: tt.caseSensitive}
		r.register(lower)
		r.register(upper)
		if got := r.get("test_policy"); got != tt.lower {
			t.Errorf("case sensitive %t: lower case gets %v", tt.caseSensitive, got)
		}
		if got := r.get("Test_Policy"); got != tt.upper {
			t.Errorf("case sensitive %t: upper case gets %v", tt.caseSensitive, got)
		}
		if got := r.get("none"); got != nil {
			t.Errorf("case sensitive %t: none gets %v", tt.caseSensitive, got)
		}
	}
	Register(lower)
	if Get("test_policy") != lower {
		t.Error("Get does not find what Register was given")
	}
}

func TestEvaluator(t *testing.T) {
	const (
		idle       = connectivity.Idle
		connecting = connectivity.Connecting
		ready      = connectivity.Ready
		failure    = connectivity.TransientFailure
		shutdown   = connectivity.Shutdown
	)
	var e ConnectivityStateEvaluator
	if got := e.CurrentState(); got != failure {
		t.Errorf("without SubConns: %v", got)
	}
	for i, step := range []struct{ from, to, want connectivity.State }{
		{shutdown, idle, idle},               // A
		{idle, connecting, connecting},       // A
		{shutdown, idle, connecting},         // B
		{connecting, failure, idle},          // A
		{idle, connecting, connecting},       // B
		{connecting, ready, ready},           // B
		{failure, connecting, ready},         // A
		{ready, idle, connecting},            // B
		{connecting, failure, idle},          // A
		{idle, failure, failure},             // B
		{failure, shutdown, failure},         // A
		{failure, connecting, connecting},    // B
		{connecting, shutdown, failure},      // B
		{shutdown, shutdown, failure},        // nothing
		{connectivity.State(-1), 9, failure}, // not states at all
	} {
		if got := e.RecordTransition(step.from, step.to); got != step.want {
			t.Errorf("step %d: %v, want %v", i, got, step.want)
		}
	}
}
