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

// Kept are the differences that are kept: the name of a probe and the reason. A name may
// end with *, which stands for any rest: at least one of its probes has to differ. A reason
// may begin with "mostly: ": whether the probe differs is a matter of time, so it need not.
type Kept map[string]string

const mostly = "mostly: "

// entry finds the entry for a probe: its own, or the longest that ends with *.
func (k Kept) entry(name string) (entry string, found bool) {
	if _, own := k[name]; own {
		return name, true
	}
	for e := range k {
		prefix, open := strings.CutSuffix(e, "*")
		if open && strings.HasPrefix(name, prefix) && len(e) > len(entry) {
			entry, found = e, true
		}
	}
	return entry, found
}

// Reason is why the probe may differ.
func (k Kept) Reason(name string) string {
	entry, _ := k.entry(name)
	return k[entry]
}

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

// Headings reads the headings of such a list, "## What differs", in their order. Each entry
// has to be below one, and each must have an entry.
func Headings(r io.Reader) ([]string, error) {
	var headings []string
	entries := 0
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		heading, found := strings.CutPrefix(line, "## ")
		switch {
		case found && len(headings) > 0 && entries == 0:
			return nil, fmt.Errorf("line %d: nothing is below %q", n, headings[len(headings)-1])
		case found:
			headings, entries = append(headings, heading), 0
		case line == "" || strings.HasPrefix(line, "#"):
		case len(headings) == 0:
			return nil, fmt.Errorf("line %d: no heading is above %q", n, line)
		default:
			entries++
		}
	}
	return headings, lines.Err()
}

// Lines are what each probe printed.
type Lines map[string][]string

// BrokenOff says that a probe did not come to its end: it hangs, or its process has ended.
func BrokenOff(lines []string) bool {
	return slices.ContainsFunc(lines, func(line string) bool { return line == "HANG" || strings.HasPrefix(line, "CRASH: ") })
}

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
	used := make(map[string]bool)  // entries that a probe differs by
	tried := make(map[string]bool) // entries whose probes ran
	for _, name := range ran {
		entry, listed := kept.entry(name)
		same := slices.Equal(ours[name], theirs[name])
		tried[entry] = listed
		switch {
		case same:
			r.Same++
		case listed && !BrokenOff(ours[name]): // no reason is good for that
			used[entry] = true
			r.Kept = append(r.Kept, name)
		default:
			r.Different = append(r.Different, name)
		}
	}
	for entry := range kept {
		prefix, open := strings.CutSuffix(entry, "*")
		exists := slices.ContainsFunc(all, func(name string) bool {
			return name == entry || open && strings.HasPrefix(name, prefix)
		})
		switch {
		case !exists:
			r.Unknown = append(r.Unknown, entry)
		case tried[entry] && !used[entry] && (!open || len(ran) == len(all)) && !strings.HasPrefix(kept[entry], mostly):
			r.Stale = append(r.Stale, entry)
		}
	}
	slices.Sort(r.Stale)
	slices.Sort(r.Unknown)
	return r
}
