// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"
)

// Each fault of the list is one that can be put into the code as it is.
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
	names := map[string]bool{}
	for _, m := range all {
		if names[m.name] {
			t.Errorf("two are called %q", m.name)
		}
		names[m.name] = true
		if _, _, err := m.apply(); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
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
