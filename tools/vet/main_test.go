// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// module writes a module of these files, and returns its folder.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	files["go.mod"] = "module example.com/m\n\ngo 1.26.0\n"
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestVet(t *testing.T) {
	folder := module(t, map[string]string{
		"a.go":         "package m\n\nfunc f(format string, args ...any) {}\n",
		"a_windows.go": "package m\n\nimport \"fmt\"\n\nfunc g() { fmt.Printf(\"%d\", \"a word\") }\n",
		"big.go":       "//go:build big\n\npackage m\n\nvar big any = 1 << 40\n",
		"a_test.go": "package m\n\nimport \"testing\"\n\n" +
			"func TestF(t *testing.T) { var size uint8; t.Log(size << 9) }\n",
		"x_freebsd_test.go": "package m_test\n\nimport _ \"example.com/nowhere\"\n",
	})
	for _, c := range []struct {
		args []string
		want []string // in what is printed, or said as the error
	}{
		{[]string{"windows/amd64"}, []string{"a_windows.go:5:24: fmt.Printf format %d has arg \"a word\" of wrong type string", "a_test.go:5:50: size (8 bits) too small for shift of 9", "2 faults"}},
		{[]string{"-tags", "big", "linux/386", "linux/amd64"}, []string{"== linux/386", "big.go:5:15: ", "== linux/amd64", "2 faults"}},
		{[]string{"freebsd/amd64"}, []string{"example.com/nowhere"}},
		{[]string{"plan9"}, []string{"plan9: want GOOS/GOARCH"}},
		{nil, []string{"say for which systems"}},
	} {
		var out strings.Builder
		err := run(append([]string{"-C", folder}, c.args...), &out)
		if err == nil {
			t.Errorf("%v: no fault; printed:\n%s", c.args, &out)
			continue
		}
		said := out.String() + err.Error()
		for _, want := range c.want {
			if !strings.Contains(said, want) {
				t.Errorf("%v: got\n%s\nwant %q in it", c.args, said, want)
			}
		}
	}
}

func TestVetNothingWrong(t *testing.T) {
	folder := module(t, map[string]string{"a.go": "package m\n", "a_test.go": "package m\n", "b_test.go": "package m_test\n"})
	var out strings.Builder
	if err := run([]string{"-C", folder, "linux/386"}, &out); err != nil || out.String() != "== linux/386\n" {
		t.Errorf("got %v, printed %q", err, &out)
	}
}
