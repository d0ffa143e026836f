// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"slices"
	"strings"
)

// Diff returns the lines of both, each with a mark in front: "  " in both, "- " only in
// theirs, "+ " only in ours.
func Diff(theirs, ours []string) []string {
	common := commonSuffixes(theirs, ours)
	var out []string
	i, j := 0, 0
	for i < len(theirs) || j < len(ours) {
		switch {
		case i < len(theirs) && j < len(ours) && theirs[i] == ours[j]:
			out = append(out, "  "+theirs[i])
			i++
			j++
		case j == len(ours) || i < len(theirs) && common[i+1][j] >= common[i][j+1]:
			out = append(out, "- "+theirs[i])
			i++
		default:
			out = append(out, "+ "+ours[j])
			j++
		}
	}
	return out
}

// nearby is how many lines Brief keeps on each side of a difference.
const nearby = 2

// Brief shortens what Diff returns to the lines that differ, and those beside them.
func Brief(diff []string) []string {
	keep := make([]bool, len(diff))
	for i, line := range diff {
		if !strings.HasPrefix(line, "  ") {
			for j := max(i-nearby, 0); j < min(i+nearby+1, len(diff)); j++ {
				keep[j] = true
			}
		}
	}
	var out []string
	for i, line := range diff {
		switch {
		case keep[i]:
			out = append(out, line)
		case i == 0 || keep[i-1]:
			out = append(out, "  ...")
		}
	}
	return out
}

// commonSuffixes has at [i][j] the length of the longest common subsequence of a[i:] and b[j:].
func commonSuffixes(a, b []string) [][]int {
	n := make([][]int, len(a)+1)
	for i := range n {
		n[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				n[i][j] = n[i+1][j+1] + 1
			} else {
				n[i][j] = max(n[i+1][j], n[i][j+1])
			}
		}
	}
	return n
}

// Shared are the lines that both have, for probes whose lines are better missing. If one has a
// line twice, it is there as often as the first has it.
func Shared(a, b []string) []string {
	var out []string
	for _, line := range a {
		if slices.Contains(b, line) {
			out = append(out, line)
		}
	}
	return out
}
