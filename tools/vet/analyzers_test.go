// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestAnalyzers: they are the registered analyzers that `go tool vet help` lists.
func TestAnalyzers(t *testing.T) {
	help, err := exec.Command("go", "tool", "vet", "help").Output()
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(help), "Registered analyzers:\n\n")
	list, _, _ = strings.Cut(list, "\n\n")
	var want, got []string
	for line := range strings.Lines(list) {
		want = append(want, strings.Fields(line)[0])
	}
	for _, a := range analyzers {
		got = append(got, a.Name)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("analyzers:\n%v\nthose of go vet:\n%v", got, want)
	}
}
