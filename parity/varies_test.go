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

// TestJudgeVaries judges with a published program that may answer something else in its third run.
func TestJudgeVaries(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program is a shell script")
	}
	for _, c := range []struct {
		name         string
		ours, theirs string
		kept         verdict.Kept
		third        string // of what the published program prints; else it prints what it did
		ok           bool
		runs         int // of the published program
	}{
		{"same at once", "a", "a", nil, "b", true, 0},
		{"the same in the third run", "b", "a", nil, "b", true, 3},
		{"never the same", "c", "a", nil, "b", false, retries},
		{"differs as listed", "b", "a", verdict.Kept{"x": "r"}, "b", true, 0},
		{"listed, and differs in another run", "b", "b", verdict.Kept{"x": "r"}, "a", true, 3},
		{"hangs, and the published module may, too", "HANG", "a", nil, "HANG", false, 0},
		{"hangs where a difference is listed", "HANG", "a", verdict.Kept{"x": "r"}, "a", false, 1},
		{"both hang, always", "HANG", "HANG", nil, "HANG", true, retries},
		{"both hang, the published module not always", "HANG", "HANG", nil, "a", false, 3},
		{"the published module alone hangs, not always", "a", "HANG", nil, "a", true, 3},
	} {
		entries := []probe.Entry{{Name: "x"}}
		dir := t.TempDir()
		campaign := newCampaign([sides]build{published: {path: script(t, dir, c.theirs, c.third)}}, entries, options{pattern: regexp.MustCompile("")})
		campaign.lines[ours]["x"], campaign.lines[published]["x"] = []string{c.ours}, []string{c.theirs}
		ok := campaign.judge(t.Context(), entries, c.kept, time.Now())
		runs, err := os.ReadFile(filepath.Join(dir, "runs"))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if ok != c.ok || len(runs) != c.runs {
			t.Errorf("%s: %v after %d runs, want %v after %d", c.name, ok, len(runs), c.ok, c.runs)
		}
		if !ok && c.ours != c.theirs && !slices.Equal(campaign.lines[published]["x"], []string{c.theirs}) {
			t.Errorf("%s: the first answer is gone", c.name)
		}
	}
}

// script writes a program of probes that notes each run in a file beside it. In its third it prints another line.
func script(t *testing.T, dir, first, third string) string {
	var answers [2][]byte
	for i, line := range []string{first, third} {
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
