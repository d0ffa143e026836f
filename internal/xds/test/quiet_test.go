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

// quiet wants nothing to go on by itself: all goroutines wait, and RPCs have nobody ask the control
// plane, nor tell the channel, anything.
func quiet(t *testing.T, p *plane, cc *grpc.ClientConn) {
	t.Helper()
	allWait(t)
	requests, updates := p.received(), spying.updates.Load()
	for range 200 {
		if _, err := try(t.Context(), t, cc, grpc.WaitForReady(true)); err != nil {
			t.Fatal(err)
		}
	}
	allWait(t)
	if n := p.received() - requests; n > 0 {
		t.Errorf("%d requests to the control plane, though nothing happens", n)
	}
	if n := spying.updates.Load() - updates; n > 0 {
		t.Errorf("%d updates of the channel, though nothing happens", n)
	}
}
