// SPDX-License-Identifier: Apache-2.0

package envconfig

import "testing"

func TestBoolean(t *testing.T) {
	for _, tt := range []struct {
		value     string
		def, want bool
	}{
		{"", true, true},
		{"", false, false},
		{"false", true, false},
		{"FALSE", true, false},
		{"False", true, false},
		{"0", true, true},
		{"no", true, true},
		{" false", true, true},
		{"true", true, true},
		{"true", false, true},
		{"TRUE", false, true},
		{"1", false, false},
		{"yes", false, false},
	} {
		if got := boolean(tt.value, tt.def); got != tt.want {
			t.Errorf("boolean(%q, %t) = %t", tt.value, tt.def, got)
		}
	}
}

func TestNumber(t *testing.T) {
	b := bounds{def: 100, min: 5, max: 200}
	for value, want := range map[string]uint64{
		"":                     100,
		"7":                    7,
		"5":                    5,
		"4":                    5,
		"0":                    5,
		"200":                  200,
		"201":                  200,
		"-1":                   100,
		"ten":                  100,
		"1e2":                  100,
		"99999999999999999999": 100, // more than 64 bits
	} {
		if got := number(value, b); got != want {
			t.Errorf("number(%q) = %d, want %d", value, got, want)
		}
	}
}
