// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"
	"time"
)

func TestParseRoam(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want []time.Duration
	}{
		"without flags": {nil, []time.Duration{2 * time.Second, 10 * time.Second}},
		"a minute":      {[]string{"-down", "60"}, []time.Duration{time.Minute}},
		"a part":        {[]string{"-down", "2.5,1.5"}, []time.Duration{2500 * time.Millisecond, 1500 * time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			if o, err := parseRoam(test.args); err != nil || !slices.Equal(o.down, test.want) {
				t.Errorf("%v, %v; want %v", o.down, err, test.want)
			}
		})
	}
	for _, args := range [][]string{{"-down", ""}, {"-down", "x"}, {"-down", "1"}, {"-runs", "0"}, {"-within", "0"}} {
		if o, err := parseRoam(args); err == nil {
			t.Errorf("%v: %+v", args, o)
		}
	}
}
