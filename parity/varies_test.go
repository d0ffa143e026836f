// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/verdict"
)

// TestJudgeVaries judges with a published program that answers "b" in its third run and "a" else.
func TestJudgeVaries(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program is a shell script")
	}
	for _, c := range []struct {
		name         string
		ours, theirs string
		kept         verdict.Kept
		ok           bool
		runs         int // of the published program
	}{
		{"same at once", "a", "a", nil, true, 0},
		{"the same in the third run", "b", "a", nil, true, 3},
		{"never the same", "c", "a", nil, false, retries},
		{"differs as listed", "b", "a", verdict.Kept{"x": "r"}, true, 0},
		{"listed, and differs in another run", "b", "b", verdict.Kept{"x": "r"}, true, 1},
	} {
		entries := []probe.Entry{{Name: "x"}}
		dir := t.TempDir()
		campaign := newCampaign([sides]build{published: {path: script(t, dir)}}, entries, options{pattern: regexp.MustCompile("")})
		campaign.lines[ours]["x"], campaign.lines[published]["x"] = []string{c.ours}, []string{c.theirs}
		ok := campaign.judge(t.Context(), entries, c.kept, time.Now())
		runs, err := os.ReadFile(filepath.Join(dir, "runs"))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if ok != c.ok || len(runs) != c.runs {
			t.Errorf("%s: %v after %d runs, want %v after %d", c.name, ok, len(runs), c.ok, c.runs)
		}
		if !ok && !slices.Equal(campaign.lines[published]["x"], []string{c.theirs}) {
			t.Errorf("%s: the first answer is gone", c.name)
		}
	}
}

// script writes a program of probes that notes each run in a file beside it.
func script(t *testing.T, dir string) string {
	var answers [2][]byte
	for i, line := range []string{"a", "b"} {
		var err error
		if answers[i], err = json.Marshal(probe.Result{Name: "x", Lines: []string{line}}); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "probes")
	text := fmt.Sprintf("#!/bin/sh\ncat >/dev/null\ncd '%s'\nprintf . >>runs\nif [ $(cat runs) = ... ]; then echo '%s'; else echo '%s'; fi\n", dir, answers[1], answers[0])
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}
