// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// races has each race that was found once: by its report without what differs from process to process.
type races map[string]race

// race is one that was found.
type race struct {
	report string
	names  []string // of the probes whose process found it first
}

// note adds the reports of a process that ran the probes.
func (r races) note(reports, names []string) {
	for _, report := range reports {
		key := ofProcess.ReplaceAllString(report, "")
		if _, known := r[key]; !known {
			r[key] = race{report, names}
		}
	}
}

// ofProcess are addresses of memory, and the numbers of goroutines.
var ofProcess = regexp.MustCompile(`0x[0-9a-f]+|oroutine [0-9]+`)

// print prints the reports, and which probes may be meant.
func (r races) print() {
	for _, key := range slices.Sorted(maps.Keys(r)) {
		fmt.Printf("RACE in the process of %s\n", strings.Join(r[key].names, ", "))
		for line := range strings.Lines(r[key].report) {
			fmt.Print("    " + line)
		}
	}
}

// raceReports are those that the race detector has written among other lines.
func raceReports(stderr string) []string {
	var reports []string
	for part := range strings.SplitSeq(stderr, "==================\n") {
		if strings.HasPrefix(part, "WARNING: DATA RACE\n") {
			reports = append(reports, part)
		}
	}
	return reports
}
