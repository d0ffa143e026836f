// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOutcomesAreByCode(t *testing.T) {
	o := make(outcomes)
	for text, n := range map[string]int{
		"OK": 10,
		`rpc error: code = Unavailable desc = error reading from server: EOF`: 1,
		"14 UNAVAILABLE: read ECONNRESET":                                     2,
		"DEADLINE_EXCEEDED Deadline Exceeded":                                 3,
		"the stream ends after 3 replies":                                     4,
	} {
		o.add(text, n)
	}
	want := outcomes{"OK": 10, "unavailable": 3, "deadlineexceeded": 3, "the stream ends after 3 replies": 4}
	if diff := cmp.Diff(want, o); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, want := o.String(), "10 OK, 3 deadlineexceeded, 4 the stream ends after 3 replies, 3 unavailable"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestOutcomesWithin(t *testing.T) {
	here := outcomes{"OK": 1, "unavailable": 2}
	for _, c := range []struct {
		there outcomes
		want  bool
	}{
		{outcomes{}, false},
		{outcomes{"OK": 5, "internal": 1}, false},
		{outcomes{"unavailable": 1}, true},
	} {
		if got := here.within(c.there); got != c.want {
			t.Errorf("%v within %v: %v", here, c.there, got)
		}
	}
	if !(outcomes{"OK": 1}).within(outcomes{}) {
		t.Error("success is taken for an error")
	}
}

func TestReport(t *testing.T) {
	var b strings.Builder
	r := newReport(&b)
	r.add(row{name: "a>ours tls", results: []result{{name: "x", ok: true}, {name: "y", detail: "why"}}})
	r.add(row{name: "ours>a plain", without: map[string]string{"z": "no"}, results: []result{{name: "x", ok: true}}}.failedWith(nil))
	r.add(row{name: "ours>b plain"}.failedWith(nil, errors.New("broke")))
	r.leaveOut("c", "cc is not on this machine")
	r.print()
	if r.failed != 2 {
		t.Errorf("%d failed, want 2", r.failed)
	}
	for _, want := range []string{
		"FAIL a>ours tls y: why", "FAIL ours>b plain: broke", "left out ours>a z: no",
		"left out c: cc is not on this machine", "2 passed, 2 failed",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("does not say %q:\n%s", want, b.String())
		}
	}
}

// TestLegs has every peer run in both directions and both links, but for clients alone.
func TestLegs(t *testing.T) {
	names := make(map[string]bool)
	for _, p := range peers {
		n := 0
		for _, l := range p.legs() {
			if names[l.name] {
				t.Errorf("two legs are named %q", l.name)
			}
			names[l.name] = true
			n++
		}
		if p.server != nil && n < 6 {
			t.Errorf("%s has %d legs, want 6 or more", p.name, n)
		}
	}
}
