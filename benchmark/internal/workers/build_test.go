// SPDX-License-Identifier: Apache-2.0

package workers

import (
	"slices"
	"testing"
)

func TestSettings(t *testing.T) {
	for name, want := range map[string][]string{
		"ours":                  {"ours"},
		"ours+nopool":           {"ours", switches[NoPool]},
		"ours+nopool+handed":    {"ours", handedEnv, switches[NoPool]},
		"/a+b/w+noreuse":        {"/a+b/w", switches[NoReuse]},
		"ours+noreuse+nopulse":  {"ours", switches[NoPulse], switches[NoReuse]},
		"/path/to/worker+other": {"/path/to/worker+other"},
	} {
		base, env := settings(name)
		if got := append([]string{base}, env...); !slices.Equal(got, want) {
			t.Errorf("%s is %q", name, got)
		}
	}
}
