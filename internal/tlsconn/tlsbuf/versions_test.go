// SPDX-License-Identifier: Apache-2.0

package tlsbuf

import "testing"

func TestTestedVersions(t *testing.T) {
	for release, want := range map[string]bool{
		"go1.26":                        true,
		"go1.26.8":                      true,
		"go1.27rc1":                     true,
		"go1.25.4":                      false,
		"go1.99":                        false,
		"devel go1.28-0123456789abcdef": false,
		"":                              false,
	} {
		if got := isTested(release); got != want {
			t.Errorf("%q: %v", release, got)
		}
	}
}
