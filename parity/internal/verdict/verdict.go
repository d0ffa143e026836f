// SPDX-License-Identifier: Apache-2.0

// Package verdict compares what probes printed in two builds with a list of the
// differences that are kept knowingly.
package verdict

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Kept are the differences that are kept: the name of a probe and the reason.
type Kept map[string]string

// ParseKept reads a list with an entry a line, `name: reason`. Empty lines and those that
// begin with # are left out.
func ParseKept(r io.Reader) (Kept, error) {
	kept := make(Kept)
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, found := strings.Cut(line, ": ")
		if !found || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("line %d: want `name: reason`, got %q", n, line)
		}
		if _, twice := kept[name]; twice {
			return nil, fmt.Errorf("line %d: %q is listed twice", n, name)
		}
		kept[name] = strings.TrimSpace(reason)
	}
	return kept, lines.Err()
}

// Lines are what each probe printed.
type Lines map[string][]string

// A Report is the outcome for the probes that were run.
type Report struct {
	Same      int
	Kept      []string // differ, and are listed
	Different []string // differ, and are not listed
	Stale     []string // listed, and don't differ
	Unknown   []string // listed, and no such probe exists
}

// Failed says whether something has to be done.
func (r Report) Failed() bool { return len(r.Different)+len(r.Stale)+len(r.Unknown) > 0 }

// Judge compares the lines of the probes that ran. All are the names of all probes, also
// those that did not run.
func Judge(ran, all []string, ours, theirs Lines, kept Kept) Report {
	var r Report
	for _, name := range ran {
		_, listed := kept[name]
		same := slices.Equal(ours[name], theirs[name])
		switch {
		case same && listed:
			r.Stale = append(r.Stale, name)
		case same:
			r.Same++
		case listed:
			r.Kept = append(r.Kept, name)
		default:
			r.Different = append(r.Different, name)
		}
	}
	for name := range kept {
		if !slices.Contains(all, name) {
			r.Unknown = append(r.Unknown, name)
		}
	}
	slices.Sort(r.Unknown)
	return r
}
