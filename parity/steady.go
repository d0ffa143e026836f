// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc/parity/internal/verdict"
)

// steadiness keeps all that each probe has printed on each side, in several campaigns.
type steadiness map[string]*[sides][]string

// note adds what a campaign has found.
func (s steadiness) note(c *campaign) {
	for side := range sides {
		for name, lines := range c.lines[side] {
			if s[name] == nil {
				s[name] = new([sides][]string)
			}
			if said := strings.Join(lines, "\n"); !slices.Contains(s[name][side], said) {
				s[name][side] = append(s[name][side], said)
			}
		}
	}
}

// print prints the probes that were not always the same, and reports whether there are none.
func (s steadiness) print() bool {
	steady := true
	for _, name := range slices.Sorted(maps.Keys(s)) {
		for side, all := range s[name] {
			if len(all) < 2 {
				continue
			}
			steady = false
			fmt.Printf("UNSTEADY %s: %s prints %d things\n", name, []string{"this module", "the published one"}[side], len(all))
			for _, other := range all[1:] {
				for _, line := range verdict.Brief(verdict.Diff(strings.Split(all[0], "\n"), strings.Split(other, "\n"))) {
					fmt.Println("    " + line)
				}
			}
		}
	}
	return steady
}
