// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePairs(t *testing.T) {
	got, err := parsePairs(defaultPairs)
	if err != nil {
		t.Fatal(err)
	}
	want := []pair{{ours, ours}, {ours, published}, {published, ours}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(pair{})); diff != "" {
		t.Error("pairs (-want +got):\n" + diff)
	}
	for _, bad := range []string{"", "ours", "ours>theirs", ">ours", "ours>ours,"} {
		if got, err := parsePairs(bad); err == nil {
			t.Errorf("parsePairs(%q) = %v, want an error", bad, got)
		}
	}
}

func TestImplementations(t *testing.T) {
	for _, tc := range []struct {
		pairs []pair
		want  []string
	}{
		{[]pair{{ours, ours}}, []string{ours}},
		{[]pair{{published, ours}}, []string{ours, published}},
		{[]pair{{published, published}}, []string{published}},
		{[]pair{{foreign, published}}, []string{published, foreign}},
	} {
		if diff := cmp.Diff(tc.want, implementations(tc.pairs)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tc.pairs, diff)
		}
	}
}

func TestPlanSwitchesPoolingWhereASideIsOurs(t *testing.T) {
	n := len(transports())
	if got := len(plan([]pair{{ours, published}}, transports())); got != 2*n {
		t.Errorf("%d legs with one side ours, want %d", got, 2*n)
	}
	if got := len(plan([]pair{{published, published}}, transports())); got != n {
		t.Errorf("%d legs with no side ours, want %d", got, n)
	}
	if got := len(plan([]pair{{published, foreign}}, transports())); got != 2*n {
		t.Errorf("%d legs with one side ours elsewhere, want %d", got, 2*n)
	}
}

func TestAbroad(t *testing.T) {
	for _, tt := range []struct {
		flag, pairs string
		transports  int
		command     []string // of a server
	}{
		{"", defaultPairs, 4, []string{"server", "-x"}},
		{"linux/s390x qemu-s390x -cpu max", foreignPairs, 4, []string{"qemu-s390x", "-cpu", "max", "server", "-x"}},
		{"windows/amd64 wine", foreignPairs, 3, []string{"wine", "server", "-x"}},
		{"linux/386", foreignPairs, 4, []string{"server", "-x"}},
	} {
		a := parseAbroad(tt.flag)
		if got := a.pairs(); got != tt.pairs {
			t.Errorf("%q: pairs %q", tt.flag, got)
		}
		if got := len(a.transports()); got != tt.transports {
			t.Errorf("%q: %d transports", tt.flag, got)
		}
		if got := a.run(t.Context(), foreign, "server", "-x").Args; !slices.Equal(got, tt.command) {
			t.Errorf("%q: %q", tt.flag, got)
		}
		if got := a.run(t.Context(), ours, "server", "-x").Args; len(got) != 2 {
			t.Errorf("%q: ours by %q", tt.flag, got)
		}
	}
}

func TestParseResults(t *testing.T) {
	got := parseResults("a log line\nskip\tround_robin\twhy\nok\tempty_unary\t1ms\nFAIL\tping_pong\twrong\tsize\nok\tshort\n")
	want := []result{{"empty_unary", true, "1ms"}, {"ping_pong", false, "wrong\tsize"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Error("(-want +got):\n" + diff)
	}
}

func TestReport(t *testing.T) {
	tcp, unix := transports()[0], transports()[2]
	legs := []*leg{
		{pair: pair{ours, ours}, transport: tcp, pooling: true, results: []result{{"a", true, ""}, {"b", true, ""}}},
		{pair: pair{ours, ours}, transport: tcp, results: []result{{"a", true, ""}, {"b", false, "why"}}},
		{pair: pair{ours, ours}, transport: unix, pooling: true, results: []result{{"a", true, ""}}, err: errors.New("died")},
	}
	var out strings.Builder
	if got := report(&out, legs); got != 2 {
		t.Errorf("%d failures, want 2", got)
	}
	want := `
   ours>ours
   tcp   unix
a  ok    ok  
b  FAIL  -   

FAIL ours>ours tcp (pooling off) b: why
FAIL ours>ours unix: died
4 passed, 2 failed
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error("(-want +got):\n" + diff)
	}
}

func TestRunLegsRunsEachOnce(t *testing.T) {
	legs := plan([]pair{{ours, ours}}, transports())
	var n atomic.Int32
	runLegs(context.Background(), legs, 3, func(*leg) { n.Add(1) })
	if int(n.Load()) != len(legs) {
		t.Errorf("%d runs of %d legs", n.Load(), len(legs))
	}
}
