// SPDX-License-Identifier: Apache-2.0

package test

import (
	"bytes"
	"runtime"
	"testing"

	"google.golang.org/grpc"
)

// waiting reports whether all goroutines but this one wait for something.
func waiting() bool {
	text := make([]byte, 1<<20)
	for {
		n := runtime.Stack(text, true)
		if n < len(text) {
			text = text[:n]
			break
		}
		text = make([]byte, 2*len(text))
	}
	busy := 0
	for _, g := range bytes.Split(text, []byte("\n\n")) {
		for _, state := range []string{"[running", "[runnable", "[syscall", "[preempted", "[copystack"} {
			if head, _, _ := bytes.Cut(g, []byte("\n")); bytes.Contains(head, []byte(state)) {
				busy++
			}
		}
	}
	return busy == 1
}

// allWait returns when all goroutines wait, each time of many that one looks. One that is in a loop
// keeps it from that.
func allWait(t *testing.T) {
	t.Helper()
	in := 0
	until(t, func() bool {
		if in++; !waiting() {
			in = 0
		}
		return in == 5
	})
}

// quiet wants nothing to go on by itself, once the last of what was said has arrived: in one of a few
// rounds of RPCs nobody asks the control plane, nor tells the channel, anything, and at the end of
// it all goroutines wait.
func quiet(t *testing.T, p *plane, cc *grpc.ClientConn) {
	t.Helper()
	const rounds = 20
	var requests int
	var updates int64
	for range rounds {
		before, told := p.received(), spying.updates.Load()
		for range 200 {
			if _, err := try(t.Context(), t, cc, grpc.WaitForReady(true)); err != nil {
				t.Fatal(err)
			}
		}
		allWait(t)
		requests, updates = p.received()-before, spying.updates.Load()-told
		if requests == 0 && updates == 0 {
			return
		}
	}
	t.Errorf("in the last of %d rounds of RPCs there were %d requests to the control plane, and %d updates of the channel, though nothing happens", rounds, requests, updates)
}
