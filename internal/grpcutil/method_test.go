// SPDX-License-Identifier: Apache-2.0

package grpcutil

import "testing"

func TestParseMethod(t *testing.T) {
	for _, tt := range []struct {
		full, service, method string
		bad                   bool
	}{
		{full: "/a.b.S/M", service: "a.b.S", method: "M"},
		{full: "/a/b/M", service: "a/b", method: "M"},
		{full: "//", service: "", method: ""},
		{full: "a.S/M", bad: true},
		{full: "/a.S", bad: true},
		{full: "", bad: true},
	} {
		service, method, err := ParseMethod(tt.full)
		if service != tt.service || method != tt.method || (err != nil) != tt.bad {
			t.Errorf("%q: %q, %q, %v", tt.full, service, method, err)
		}
	}
}
