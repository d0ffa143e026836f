// SPDX-License-Identifier: Apache-2.0

package nettrace

import (
	"fmt"
	"strings"
	"testing"
)

func TestServiceOfMethod(t *testing.T) {
	for method, want := range map[string]string{
		"/package.sub.Service/Method": "Service",
		"/Service/Method":             "Service",
		"Service/Method":              "Service",
		"/a.b":                        "b",
		"/":                           "",
		"":                            "",
	} {
		if got := service(method); got != want {
			t.Errorf("%q: %q, want %q", method, got, want)
		}
	}
}

// TestFamiliesAreBounded: clients that make up services, and long names, make no more families than
// there may be; the first ones stay.
func TestFamiliesAreBounded(t *testing.T) {
	var f families
	all := make(map[string]bool)
	for i := range 3 * maxFamilies {
		all[f.of(fmt.Sprintf("/made.Up%d/Method", i))] = true
		all[f.of(fmt.Sprintf("/made.Up%d%s/Method", i, strings.Repeat("x", longestFamily)))] = true
	}
	if len(all) != maxFamilies+1 || !all[otherFamily] {
		t.Errorf("%d families, want %d", len(all), maxFamilies+1)
	}
	if got := f.of("/made.Up0/Other"); got != "Up0" {
		t.Errorf("the first family is %q now", got)
	}
}
