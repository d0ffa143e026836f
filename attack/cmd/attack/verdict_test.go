// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/attack/internal/kinds"
)

func TestJudge(t *testing.T) {
	const m = 1 << 20
	well := outcome{RSS: 20 * m, Alive: true}
	tests := []struct {
		name            string
		ours, published outcome
		want            string // in the only fault; "" for none
	}{
		{"the same", well, well, ""},
		{"as much as it may", outcome{RSS: 46 * m, Alive: true}, well, ""},
		{"too much", outcome{RSS: 47 * m, Alive: true}, well, "47 MB resident, 46 MB are allowed"},
		{"a call lost", outcome{RSS: 20 * m, Alive: true, Lost: 1, Error: "gone"}, well, "1 legitimate calls lost: gone"},
		{"both lost calls", outcome{RSS: 20 * m, Alive: true, Lost: 2}, outcome{RSS: 20 * m, Alive: true, Lost: 1}, ""},
		{"dead", outcome{RSS: 20 * m, Error: "panic"}, well, "it did not survive: panic"},
		{"both dead", outcome{RSS: 20 * m}, outcome{RSS: 20 * m}, ""},
		{"the other is dead", outcome{RSS: 90 * m, Alive: true}, outcome{RSS: 20 * m}, ""},
		{"holds what it may", outcome{RSS: 20 * m, Alive: true, Heap: 8 * m, Sent: m}, well, ""},
		{"holds too much", outcome{RSS: 20 * m, Alive: true, Heap: 9 * m, Sent: m}, well, "9 MB held, 8 MB are allowed"},
		{"takes as long for a MB as it may", outcome{RSS: 20 * m, Alive: true, Sent: 10 * m, CPU: 400 * time.Millisecond}, well, ""},
		{"takes longer", outcome{RSS: 20 * m, Alive: true, Sent: 10 * m, CPU: 401 * time.Millisecond}, well, "0.40 s of processor time, 0.40 are allowed"},
		{
			"the other takes half as long",
			outcome{RSS: 20 * m, Alive: true, Sent: 10 * m, CPU: 2200 * time.Millisecond},
			outcome{RSS: 20 * m, Alive: true, Sent: 5 * m, CPU: 500 * time.Millisecond},
			"",
		},
		{
			"the other takes less than half as long",
			outcome{RSS: 20 * m, Alive: true, Sent: 10 * m, CPU: 2300 * time.Millisecond},
			outcome{RSS: 20 * m, Alive: true, Sent: 5 * m, CPU: 500 * time.Millisecond},
			"2.30 s of processor time, 2.20 are allowed",
		},
		{"hardly anything was sent", outcome{RSS: 20 * m, Alive: true, CPU: 900 * time.Millisecond}, outcome{RSS: 20 * m, Alive: true, CPU: 400 * time.Millisecond}, ""},
		{"leaves what it may", outcome{RSS: 20 * m, Alive: true, Left: m}, well, ""},
		{"leaves more", outcome{RSS: 20 * m, Alive: true, Left: 3 * m}, well, "3.0 MB left behind, 1.0 are allowed"},
		{"leaves what the runtime keeps of goroutines", outcome{RSS: 20 * m, Alive: true, Left: 3 * m, Go: 4000}, well, ""},
		{"leaves no more than the other", outcome{RSS: 20 * m, Alive: true, Left: 3 * m}, outcome{RSS: 20 * m, Alive: true, Left: 2 * m}, ""},
		{"many streams", outcome{RSS: 20 * m, Alive: true, Heap: 9 * m, Sent: m, Streams: 2000}, well, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			faults := judge(row{Ours: test.ours, Published: test.published})
			if got := strings.Join(faults, "; "); (test.want == "") != (got == "") || !strings.Contains(got, test.want) || len(faults) > 1 {
				t.Errorf("faults %q, want %q", got, test.want)
			}
		})
	}
	spate := kinds.Kind{Spate: 400 * m}
	if faults := judge(row{Kind: spate, Ours: outcome{RSS: 420 * m, Alive: true}, Published: well}); len(faults) > 0 {
		t.Errorf("messages that the program has for a moment count: %q", faults)
	}
	if faults := judge(row{Kind: spate, Ours: outcome{RSS: 421 * m, Alive: true}, Published: well}); len(faults) != 1 {
		t.Errorf("more than they take: faults %q, want one", faults)
	}
}
