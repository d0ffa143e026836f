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

func TestJudge(t *testing.T) {
	all := []string{"same", "kept", "new", "stale", "not run"}
	ours := Lines{"same": {"1"}, "kept": {"1"}, "new": {"1", "2"}, "stale": {"1"}}
	theirs := Lines{"same": {"1"}, "kept": {"2"}, "new": {"1"}, "stale": {"1"}}
	kept := Kept{"kept": "r", "stale": "r", "not run": "r", "gone": "r"}
	got := Judge(all[:4], all, ours, theirs, kept)
	want := Report{
		Same: 1, Kept: []string{"kept"}, Different: []string{"new"},
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
