// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"testing"

	internalmem "google.golang.org/grpc/internal/mem"
	"google.golang.org/grpc/internal/transport/h2/flow"
)

// TestFull: a stream has room until so much waits on it, or on all streams; in any case for one
// message.
func TestFull(t *testing.T) {
	pool := internalmem.Default()
	set := streams{streamTable: newStreamTable(Server)}
	windows := flow.NewWindows(flow.DefaultWindow)
	var a, b, idle Stream
	for i, s := range []*Stream{&a, &b, &idle} {
		set.begin(s, uint32(2*i+1), Client, &windows)
		s.out.Take(windows.Send(), s.out.Window())
		windows = flow.NewWindows(flow.DefaultWindow)
	}
	const bound = 100_000
	want := func(what string, s *Stream, full bool) {
		t.Helper()
		if got := set.isFull(s, bound); got != full {
			t.Errorf("%s: full is %t; %d bytes wait on all", what, got, set.queued)
		}
	}
	want("nothing waits", &a, false)
	set.push(&a, framesOf(60_000, pool), pool)
	want("a message waits", &a, false)
	set.push(&b, framesOf(60_000, pool), pool)
	want("too much waits on all", &a, true)
	want("too much waits on all", &b, true)
	want("nothing waits on this one", &idle, false)
	set.stop(&a, pool)
	want("the other is gone", &b, false)
	set.push(&b, framesOf(10_000, pool), pool)
	want("too much waits on it", &b, true)
	set.stop(&b, pool)
	if set.queued != 0 {
		t.Errorf("%d bytes are left", set.queued)
	}
}
