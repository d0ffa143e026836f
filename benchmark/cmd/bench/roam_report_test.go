// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"
)

func TestRoamPrintsMedians(t *testing.T) {
	back := func(d time.Duration) roamed { return roamed{Back: d, Failed: 3, Dials: 2, Lookups: 1} }
	o := roamOutcome{Runs: 3, Within: time.Minute, Labels: []string{"ours", "published"}}
	res := roamResult{
		Case: roamCase{2 * time.Second, ownAddress, true},
		Impls: [][]roamed{
			{back(time.Second), back(-1), back(1700 * time.Millisecond)},
			{back(-1), back(-1), back(time.Second)},
		},
	}
	var out strings.Builder
	o.printHeader(&out)
	o.print(&out, res)
	for _, want := range []string{
		"2s     the client's address", "yes",
		"1.7 s, 2 dials, 1 look-ups, 3 failed", "not in 1m0s, 2 dials",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no %q in\n%s", want, out.String())
		}
	}
}

func TestRoamCases(t *testing.T) {
	seen := map[roamCase]bool{}
	for _, c := range roamCases(time.Second) {
		seen[c] = true
	}
	if len(seen) != 6 {
		t.Errorf("%d cases, want 6", len(seen))
	}
}
