// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"
)

// The faults of the list can be put into the code as it is. Whoever moves code may leave a few for
// later, which the log names: `make mutate` refuses to run without them.
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
	left, names := 0, map[string]bool{}
	for _, m := range all {
		if names[m.name] {
			t.Errorf("two are called %q", m.name)
		}
		names[m.name] = true
		if err := fit([]mutation{m}); err != nil {
			left++
			t.Log(err)
		}
	}
	if len(all) < 60 || left > len(all)/20 {
		t.Errorf("%d of %d faults cannot be put in", left, len(all))
	}
}

// A fault that does not fit is named, and an error.
func TestMutateRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/a.go", []byte("package a\n\nvar a = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	list := dir + "/list.txt"
	text := "== one\n@ " + dir + "\n- var a = 1\n+ var a = 2\n== other\n@ " + dir + "\n- var b = 1\n"
	if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := mutate(list, "", runner{}); err == nil || !strings.Contains(err.Error(), `"other"`) || strings.Contains(err.Error(), `"one"`) {
		t.Errorf("error %v", err)
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
