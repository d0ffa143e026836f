// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"maps"
	"slices"
	"testing"
)

func TestDoubtful(t *testing.T) {
	kept := Kept{"kept": "r", "stale": "r", "open/*": "r"}
	r := Report{Same: 4, Kept: []string{"kept"}, Different: []string{"new", "hangs"}, Stale: []string{"open/*", "stale"}}
	ours := Lines{"new": {"1"}, "hangs": {"1", "HANG"}}
	got := r.Doubtful([]string{"same", "kept", "new", "hangs", "stale", "open/1", "open/2"}, ours, kept)
	want := map[string]bool{"new": true, "stale": false, "open/1": false, "open/2": false}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAnother(t *testing.T) {
	a, ab, ba := []string{"a"}, []string{"a", "b"}, []string{"b", "a"}
	for _, c := range []struct {
		name    string
		ours    []string
		same    bool
		answers [][]string
		theirs  []string
		asked   int // answers
		found   bool
	}{
		{"none is asked for", ab, true, nil, nil, 0, false},
		{"the first is the same", ab, true, [][]string{ab, ba}, ab, 1, true},
		{"a later one is the same", ab, true, [][]string{ba, a, ab, a}, ab, 3, true},
		{"none is the same", ab, true, [][]string{ba, a, ba}, nil, 3, false},
		{"together they have each line, none has all", ab, true, [][]string{a, {"b"}}, nil, 2, false},
		{"both print nothing", nil, true, [][]string{a, {}}, nil, 2, true},
		{"all are the same, and one has to differ", ab, false, [][]string{ab, ab}, nil, 2, false},
		{"a later one differs", ab, false, [][]string{ab, ba, a}, ba, 2, true},
	} {
		asked := 0
		theirs, found := Another(c.ours, c.same, func(yield func([]string) bool) {
			for _, answer := range c.answers {
				if asked++; !yield(answer) {
					return
				}
			}
		})
		if !slices.Equal(theirs, c.theirs) || found != c.found || asked != c.asked {
			t.Errorf("%s: %q, %v after %d answers; want %q, %v after %d", c.name, theirs, found, asked, c.theirs, c.found, c.asked)
		}
	}
}
