// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"
)

func TestParseFar(t *testing.T) {
	for name, test := range map[string]struct {
		args  []string
		cells int
		has   cell
	}{
		"without flags": {nil, 6, cell{RoundTrip: 50 * time.Millisecond, Rate: 12.5e6, Loss: 0.01, Over: "tcp"}},
		"one path":      {[]string{"-rtt", "0.5"}, 1, cell{RoundTrip: 500 * time.Microsecond, Over: "tcp"}},
		"all combinations": {
			[]string{"-rtt", "1,20", "-rate", "0,1,10", "-loss", "0,0.1", "-cc", "bbr,cubic", "-over", "tcp,tls"},
			48,
			cell{RoundTrip: 20 * time.Millisecond, Rate: 1e6, Loss: 0.001, Congestion: "cubic", Over: "tls"},
		},
		"over TLS": {[]string{"-over", "tls"}, 6, cell{RoundTrip: time.Millisecond, Over: "tls"}},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := parseFar(test.args)
			if err != nil {
				t.Fatal(err)
			}
			found := 0
			for _, c := range o.cells {
				if c == test.has {
					found++
				}
			}
			if len(o.cells) != test.cells || found != 1 {
				t.Errorf("%d paths, want %d; %v is there %d times", len(o.cells), test.cells, test.has, found)
			}
		})
	}
	for _, args := range [][]string{{"-rtt", "x"}, {"-rtt", ""}, {"-loss", "-1"}, {"-loss", "200"}, {"-over", "unix"}, {"-runs", "0"}, {"-rtt", "0"}, {"-calls", "0"}} {
		if _, err := parseFar(args); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}

func TestFarStreamsLastLongerOnLongPaths(t *testing.T) {
	var o farOptions
	for trip, want := range map[time.Duration]time.Duration{time.Millisecond: 4 * time.Second, 300 * time.Millisecond: 9 * time.Second} {
		if got := o.lasts(cell{RoundTrip: trip}); got != want {
			t.Errorf("over %v: %v, want %v", trip, got, want)
		}
	}
	o.seconds = 1.5
	if got := o.lasts(cell{RoundTrip: time.Second}); got != 1500*time.Millisecond {
		t.Errorf("%v, not what was asked for", got)
	}
}
