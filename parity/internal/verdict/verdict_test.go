// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestParseKept(t *testing.T) {
	kept, err := ParseKept(strings.NewReader("# why\n\na/b: because: of this\n c: too \n"))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Kept{"a/b": "because: of this", "c": "too"}); !reflect.DeepEqual(kept, want) {
		t.Errorf("got %v, want %v", kept, want)
	}
	for _, bad := range []string{"a", "a:", "a: ", "a: b\na: c"} {
		if _, err := ParseKept(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestHeadings(t *testing.T) {
	got, err := Headings(strings.NewReader("# why\n\n## One\na: because\n\n## Two\nb: because\nc: because\n"))
	if want := []string{"One", "Two"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	for _, bad := range []string{"a: because", "## One\n## Two\na: because"} {
		if _, err := Headings(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestJudge(t *testing.T) {
	all := []string{"same", "kept", "new", "stale", "soon", "late", "not run"}
	ours := Lines{"same": {"1"}, "kept": {"1"}, "new": {"1", "2"}, "stale": {"1"}, "soon": {"1"}, "late": {"1"}}
	theirs := Lines{"same": {"1"}, "kept": {"2"}, "new": {"1"}, "stale": {"1"}, "soon": {"1"}, "late": {"2"}}
	kept := Kept{"kept": "r", "stale": "r", "soon": "mostly: r", "late": "mostly: r", "not run": "r", "gone": "r"}
	got := Judge(all[:6], all, ours, theirs, kept)
	want := Report{
		Same: 3, Kept: []string{"kept", "late"}, Different: []string{"new"},
		Stale: []string{"stale"}, Unknown: []string{"gone"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if !got.Failed() {
		t.Error("differences are no failure")
	}
	if (Report{Same: 3, Kept: []string{"a"}}).Failed() {
		t.Error("a difference that is kept is a failure")
	}
}

func TestJudgeBrokenOff(t *testing.T) {
	for line, broken := range map[string]bool{"HANG": true, "CRASH: panic: no": true, "it says HANG": false, "PANIC: no": false} {
		if BrokenOff([]string{"1", line}) != broken {
			t.Errorf("%q: broken off is %v", line, !broken)
		}
		got := Judge([]string{"a"}, []string{"a"}, Lines{"a": {line}}, Lines{"a": {"1"}}, Kept{"a": "r"})
		if got.Failed() != broken {
			t.Errorf("%q: listed, and judged as %+v", line, got)
		}
	}
}

func TestJudgeOpenEntries(t *testing.T) {
	all := []string{"a/1", "a/2", "a/long/1", "b/1"}
	ours := Lines{"a/1": {"1"}, "a/long/1": {"1"}}
	kept := Kept{"a/*": "short", "a/long/*": "long", "b/*": "none", "c/*": "unknown"}
	got := Judge(all, all, ours, nil, kept)
	want := Report{Same: 2, Kept: []string{"a/1", "a/long/1"}, Stale: []string{"b/*"}, Unknown: []string{"c/*"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := kept.Reason("a/long/1"); got != "long" {
		t.Errorf("the reason is %q, want that of the longest entry", got)
	}
	if got := Judge(all[3:], all, ours, nil, kept); len(got.Stale) != 0 {
		t.Errorf("%q are stale, but not all of their probes ran", got.Stale)
	}
}

func TestDiff(t *testing.T) {
	for _, c := range []struct{ theirs, ours, want []string }{
		{nil, nil, nil},
		{[]string{"a"}, []string{"a"}, []string{"  a"}},
		{[]string{"a", "b", "c"}, []string{"a", "c"}, []string{"  a", "- b", "  c"}},
		{[]string{"a", "c"}, []string{"a", "b", "c"}, []string{"  a", "+ b", "  c"}},
		{[]string{"a"}, []string{"b"}, []string{"- a", "+ b"}},
	} {
		if got := Diff(c.theirs, c.ours); !slices.Equal(got, c.want) {
			t.Errorf("Diff(%q, %q) = %q, want %q", c.theirs, c.ours, got, c.want)
		}
	}
}

func TestBrief(t *testing.T) {
	diff := []string{"  1", "  2", "  3", "- 4", "  5", "  6", "  7", "  8", "+ 9", "  10", "  11", "  12", "  13"}
	got := Brief(diff)
	want := []string{"  ...", "  2", "  3", "- 4", "  5", "  6", "  7", "  8", "+ 9", "  10", "  11", "  ..."}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Brief([]string{"  1", "  2"}); !slices.Equal(got, []string{"  ..."}) {
		t.Errorf("got %q", got)
	}
}

func TestShared(t *testing.T) {
	got := Shared([]string{"a", "b", "c"}, []string{"c", "x", "a", "y"})
	if !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("%q", got)
	}
}
