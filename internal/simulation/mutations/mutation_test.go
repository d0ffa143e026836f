// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"
)

// enough is how many faults there are at least. Where code moves some have to be written anew, which
// the test logs.
const enough = 70

// The faults of the list can be put into the code as it is.
func TestMutationsApply(t *testing.T) {
	text, err := os.ReadFile("mutations.txt")
	if err != nil {
		t.Fatal(err)
	}
	all, err := parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("../../..")
	fit, names := 0, map[string]bool{}
	for _, m := range all {
		if names[m.name] {
			t.Errorf("two are called %q", m.name)
		}
		names[m.name] = true
		if _, _, err := m.apply(); err != nil {
			t.Logf("%s: %v", m.name, err)
			continue
		}
		fit++
	}
	if fit < enough {
		t.Errorf("%d of %d faults can be put in", fit, len(all))
	}
}

func TestReplace(t *testing.T) {
	m := mutation{old: []string{"b", "c"}, new: []string{"x"}}
	for _, tt := range []struct {
		lines []string
		want  string
		times int
	}{
		{[]string{"a", "\tb", "\tc", "d"}, "a\nx\nd", 1},
		{[]string{"b", "c", "b", "c"}, "x\nx", 2},
		{[]string{"b", "d"}, "b\nd", 0},
		{[]string{"a", "b"}, "a\nb", 0},
	} {
		if got, times := m.replace(tt.lines); got != tt.want || times != tt.times {
			t.Errorf("%q: %q, %d times", tt.lines, got, times)
		}
	}
}
