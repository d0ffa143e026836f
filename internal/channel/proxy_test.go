// SPDX-License-Identifier: Apache-2.0

package channel

import "testing"

func TestWithPort(t *testing.T) {
	for endpoint, want := range map[string]string{
		"host":       "host:443",
		"host:1":     "host:1",
		":8080":      "localhost:8080",
		"[::1]":      "[::1]:443",
		"[::1]:2":    "[::1]:2",
		"::1":        "[::1]:443",
		"1.2.3.4":    "1.2.3.4:443",
		"1.2.3.4:56": "1.2.3.4:56",
	} {
		if got := withPort(endpoint); got != want {
			t.Errorf("%q: %q, want %q", endpoint, got, want)
		}
	}
}
