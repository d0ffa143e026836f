// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// raceReport is as the detector writes one.
func raceReport(address, goroutine, function string) string {
	return "WARNING: DATA RACE\nWrite at " + address + " by goroutine " + goroutine + ":\n  " + function + "()\n      /a.go:1 +0x44\n"
}

func TestRaceReports(t *testing.T) {
	const line = "==================\n"
	one, two := raceReport("0xc01", "7", "a"), raceReport("0xc02", "8", "b")
	for name, c := range map[string]struct {
		stderr string
		want   []string
	}{
		"none":           {"a log line\n", nil},
		"nothing":        {"", nil},
		"between others": {"a log line\n" + line + one + line + "another\n" + line + two + line + "Found 2 data race(s)\n", []string{one, two}},
		"broken off":     {line + one, []string{one}},
	} {
		if got := raceReports(c.stderr); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestRacesNote(t *testing.T) {
	r := make(races)
	r.note([]string{raceReport("0xc01", "7", "a")}, []string{"first", "second"})
	r.note([]string{raceReport("0xc02", "8", "a"), raceReport("0xc02", "8", "b")}, []string{"third"})
	found := make(map[string]int)
	for _, race := range r {
		found[race.names[0]]++
	}
	if found["first"] != 1 || found["third"] != 1 {
		t.Errorf("%v, want one race that each has found first", found)
	}
}

// TestRaceOfAProcess runs a program that has a race as one of probes, which prints none.
func TestRaceOfAProcess(t *testing.T) {
	dir := t.TempDir()
	const text = `package main

func main() {
	done := make(chan bool)
	n := 0
	go func() { n++; close(done) }()
	n++
	<-done
	println(n)
}
`
	source, path := filepath.Join(dir, "main.go"), filepath.Join(dir, "racy")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-race", "-o", path, source).CombinedOutput(); err != nil {
		t.Skipf("no race detector here: %v %s", err, out)
	}
	if out := (build{path: path}).run(t.Context(), nil, nil); len(out.races) != 1 || out.dead != "" {
		t.Errorf("%d races, died by %q; want one race, and that it goes on", len(out.races), out.dead)
	}
}
