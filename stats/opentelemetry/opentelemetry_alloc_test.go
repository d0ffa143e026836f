// SPDX-License-Identifier: Apache-2.0

package opentelemetry_test

import (
	"testing"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"google.golang.org/grpc"
	"google.golang.org/grpc/stats/opentelemetry"
)

// TestAllocations holds what metrics cost an RPC: the call's value, the served call's, and
// what package grpc keeps to tell the latter.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	allocations := func(server []grpc.ServerOption, client ...grpc.DialOption) float64 {
		p := newPair(t, &echo{}, server, client...)
		in, out, opts := wrapperspb.String("x"), new(text), []grpc.CallOption{grpc.StaticMethod()}
		call := func() {
			if err := p.cc.Invoke(p.ctx, unaryMethod, in, out, opts...); err != nil {
				t.Fatal(err)
			}
		}
		for range 20 {
			call()
		}
		return testing.AllocsPerRun(500, call)
	}
	without := allocations(nil)
	client, server := newMeters(t), newMeters(t)
	with := allocations([]grpc.ServerOption{opentelemetry.ServerOption(server.options())}, opentelemetry.DialOption(client.options()))
	t.Logf("%v allocations an RPC without, %v with metrics", without, with)
	if with > without+3.5 {
		t.Errorf("%v allocations an RPC, %v without metrics", with, without)
	}
}
