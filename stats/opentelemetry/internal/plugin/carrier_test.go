// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"maps"
	"slices"
	"testing"

	"google.golang.org/grpc/metadata"
)

// TestCarriersIgnoreCase: a propagator's keys may have capitals, as X-Amzn-Trace-Id has; metadata has none.
func TestCarriersIgnoreCase(t *testing.T) {
	ctx := metadata.AppendToOutgoingContext(context.Background(), "x-amzn-trace-id", "the program's", "other", "stays")
	o := &outgoing{ctx: ctx}
	if got := o.Get("X-Amzn-Trace-Id"); got != "the program's" {
		t.Errorf("Get: %q", got)
	}
	o.Set("X-Amzn-Trace-Id", "old")
	o.Set("x-amzn-trace-ID", "new")
	if got := o.Get("X-AMZN-Trace-Id"); got != "new" {
		t.Errorf("Get after Set: %q", got)
	}
	md, _ := metadata.FromOutgoingContext(o.context())
	if got := md["x-amzn-trace-id"]; !slices.Equal(got, []string{"new"}) {
		t.Errorf("sent: %q", got)
	}
	if got := md["other"]; !slices.Equal(got, []string{"stays"}) {
		t.Errorf("the program's: %q", got)
	}
	in := incoming{metadata.NewIncomingContext(context.Background(), md)}
	if got := in.Get("X-Amzn-Trace-Id"); got != "new" {
		t.Errorf("received: %q", got)
	}
}

// TestForeignTraceState: the state of another trace, whose parent somebody has dropped, does not go with ours.
func TestForeignTraceState(t *testing.T) {
	for name, added := range map[string][]string{"": {"traceparent", "ours"}, "ours": {"traceparent", "ours", "tracestate", "ours"}} {
		ctx := metadata.AppendToOutgoingContext(context.Background(), "tracestate", "theirs", "other", "stays")
		o := &outgoing{ctx: ctx}
		for i := 0; i < len(added); i += 2 {
			o.Set(added[i], added[i+1])
		}
		md, _ := metadata.FromOutgoingContext(o.context())
		want := metadata.Pairs(append(added, "other", "stays")...)
		if !maps.EqualFunc(md, want, slices.Equal) {
			t.Errorf("state %q: sent %v, want %v", name, md, want)
		}
	}
}
