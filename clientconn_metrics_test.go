// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc/connectivity"
	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/internal/backendlabel"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/stats"
)

// counter is a stats handler that takes metrics.
type counter struct {
	estats.UnimplementedMetricsRecorder
	mu   sync.Mutex
	seen []string
}

func (*counter) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (*counter) HandleRPC(context.Context, stats.RPCStats)                         {}
func (*counter) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*counter) HandleConn(context.Context, stats.ConnStats)                       {}

func (c *counter) note(name string, n int64, labels []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = append(c.seen, fmt.Sprintf("%s %+d %q", name, n, labels[1:]))
}

func (c *counter) RecordInt64Count(h *estats.Int64CountHandle, n int64, labels ...string) {
	c.note(h.Descriptor().Name, n, labels)
}

func (c *counter) RecordInt64UpDownCount(h *estats.Int64UpDownCountHandle, n int64, labels ...string) {
	c.note(h.Descriptor().Name, n, labels)
}

// connectAndFail has cc lose its only connection and not get another, and wants to have seen it.
func (c *counter) connectAndFail(t *testing.T, s *restartable, cc *ClientConn, wants ...string) {
	t.Helper()
	if err := call(testContext(t), cc, "x"); err != nil {
		t.Fatal(err)
	}
	s.srv.Stop()
	awaitState(t, cc, connectivity.Idle)
	cc.Connect()
	awaitState(t, cc, connectivity.TransientFailure)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, want := range wants {
		if !slices.Contains(c.seen, want) {
			t.Errorf("no %s in %q", want, c.seen)
		}
	}
}

func TestSubchannelMetrics(t *testing.T) {
	s := newRestartable(t)
	c := &counter{}
	cc := newTestClient(t, s.addr, WithStatsHandler(c), quickBackoff)
	c.connectAndFail(t, s, cc,
		`grpc.subchannel.connection_attempts_succeeded +1 ["" ""]`,
		`grpc.subchannel.open_connections +1 ["" "NoSecurity" ""]`,
		`grpc.subchannel.open_connections -1 ["" "NoSecurity" ""]`,
		`grpc.subchannel.connection_attempts_failed +1 ["" ""]`,
	)
}

// TestSubchannelLabels: what a policy says of an address goes into the metrics.
func TestSubchannelLabels(t *testing.T) {
	s := newRestartable(t)
	c := &counter{}
	r := manual.NewBuilderWithScheme("labelled")
	r.InitialState(resolver.State{Addresses: []resolver.Address{
		backendlabel.With(resolver.Address{Addr: s.addr}, backendlabel.Labels{BackendService: "service", Locality: "here"}),
	}})
	cc := newTestClient(t, "labelled:///x", WithResolvers(r), WithStatsHandler(c), quickBackoff)
	c.connectAndFail(t, s, cc,
		`grpc.subchannel.connection_attempts_succeeded +1 ["service" "here"]`,
		`grpc.subchannel.open_connections +1 ["service" "NoSecurity" "here"]`,
		`grpc.subchannel.open_connections -1 ["service" "NoSecurity" "here"]`,
		`grpc.subchannel.connection_attempts_failed +1 ["service" "here"]`,
	)
}
