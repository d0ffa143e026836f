// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestWorkflowsRunEverything: what .ci/run runs, the public workflows run too: each `make` target
// with the same arguments, or the whole of what .ci/run runs a part of.
func TestWorkflowsRunEverything(t *testing.T) {
	var said []string
	for _, file := range workflows(t) {
		for line := range strings.Lines(read(t, file)) {
			said = append(said, strings.TrimSpace(line))
		}
	}
	steps := regexp.MustCompile(`(?m)^\s*step \S+ make (.+)$`).FindAllStringSubmatch(read(t, ".ci/run"), -1)
	if len(steps) < 12 {
		t.Fatalf(".ci/run has %d steps", len(steps))
	}
	for _, s := range steps {
		target := strings.ReplaceAll(s[1], `"${FUZZTIME:-1000x}"`, "1000x")
		ok := slices.ContainsFunc(said, func(line string) bool {
			return strings.Contains(line, "target: "+target+" }") || strings.Contains(line, "target: "+target+",") ||
				strings.HasSuffix(line, "make "+target) || strings.HasSuffix(line, "make "+strings.TrimSuffix(target, " ARGS=-short"))
		})
		if !ok {
			t.Errorf("no workflow runs make %s", target)
		}
	}
}

// TestTargetsExist: a workflow names no target that the Makefile has not.
func TestTargetsExist(t *testing.T) {
	makefile := read(t, "Makefile")
	for _, file := range workflows(t) {
		for _, m := range regexp.MustCompile(`target: ([a-z-]+)`).FindAllStringSubmatch(read(t, file), -1) {
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s: the Makefile has no target %s", file, m[1])
			}
		}
	}
}
