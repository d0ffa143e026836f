// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/interop/internal/programs"
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

func TestComparison(t *testing.T) {
	const fine, lost, odd = "fine", "lost", "odd"
	shows := map[string]outcomes{fine: {"OK": 5}, lost: {"OK": 5, unavailable: 1}, odd: {"OK": 5, "internal": 1}}
	for _, tt := range []struct {
		name            string
		ours, published []string // what each run shows; the last one again and again
		allowed         outcomes
		runs            [2]int
		guilty          []string
	}{
		{"nothing", []string{fine}, []string{fine}, nil, [2]int{1, 0}, nil},
		{"the same", []string{lost}, []string{lost}, nil, [2]int{1, 1}, nil},
		{"the same, later", []string{lost}, []string{fine, fine, lost}, nil, [2]int{3, 3}, nil},
		{"allowed", []string{lost}, []string{fine}, outcomes{unavailable: 1}, [2]int{1, 0}, nil},
		{"others", []string{odd}, []string{lost}, outcomes{unavailable: 1}, [2]int{rounds, rounds}, []string{"internal"}},
		{"by chance", []string{odd, odd, odd, fine}, []string{lost}, nil, [2]int{rounds, rounds}, nil},
		{"often", []string{odd, odd, odd, odd, fine}, []string{lost}, nil, [2]int{rounds, rounds}, []string{"internal"}},
	} {
		left := [2][]string{tt.ours, tt.published}
		c, err := compare(tt.allowed, func(side int) (outcomes, error) {
			o := shows[left[side][0]]
			if len(left[side]) > 1 {
				left[side] = left[side][1:]
			}
			return o, nil
		}, [2]int{0, 1})
		if runs := [2]int{c.ours.runs, c.published.runs}; err != nil || runs != tt.runs || !slices.Equal(c.guilty(), tt.guilty) {
			t.Errorf("%s: %v, runs %v, guilty of %q; want runs %v, %q", tt.name, err, runs, c.guilty(), tt.runs, tt.guilty)
		}
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

// TestLegs has every peer run in both directions and both links, but for clients alone, and
// every proxy be started anew, and what is behind it.
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
	for _, p := range proxies {
		for _, link := range []string{"plain", "tls", "restart behind it", "restart of it"} {
			name := "ours>" + p.name + ">ours " + link
			if !slices.ContainsFunc(p.legs(), func(l leg) bool { return l.name == name && l.do != nil && l.secure == (link == "tls") }) {
				t.Errorf("no leg %q", name)
			}
		}
	}
}

// TestTwice: a case fails only if it fails twice, and not with the published module.
func TestTwice(t *testing.T) {
	w := &workshop{ours: programs.Programs{Server: "ours"}, published: programs.Programs{Server: "published"}}
	outcomes := map[string][]bool{ // of ours, of ours again, of the published module
		"good":      {true},
		"starved":   {false, true},
		"not ours":  {false, false, false},
		"our fault": {false, false, true},
	}
	runs := 0
	r := w.twice(row{name: "leg"}, func(p programs.Programs, only []string) (results []result, err error) {
		if want := [...]string{"ours", "ours", "published"}[runs]; p.Server != want {
			t.Errorf("run %d is with %s, want %s", runs, p.Server, want)
		}
		for _, name := range sorted(outcomes) {
			if only == nil || slices.Contains(only, name) {
				results = append(results, result{name: name, ok: outcomes[name][runs]})
			}
		}
		runs++
		return results, nil
	})
	if got, want := failedCases(r.results), []string{"our fault"}; !slices.Equal(got, want) {
		t.Errorf("failed: %q, want %q", got, want)
	}
	if want := "starved passes the second time; not ours fails with the published module too; "; r.note != want {
		t.Errorf("note %q, want %q", r.note, want)
	}
}
