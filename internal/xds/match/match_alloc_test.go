// SPDX-License-Identifier: Apache-2.0

//go:build !race

package match

import (
	"testing"

	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
)

// TestNoAllocations is not for the race detector, under which package regexp's pools lose what they hold.
func TestNoAllocations(t *testing.T) {
	for _, s := range []string{`exact: "ab"`, `contains: "Ab" ignore_case: true`, `safe_regex { regex: "a.*c" }`} {
		m, err := ParseString(text(t, &matcherv3.StringMatcher{}, s))
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(100, func() { m.Match("a longer text with ab and c") }); n != 0 {
			t.Errorf("%v: %v allocations", m, n)
		}
	}
}
