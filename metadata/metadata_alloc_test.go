// SPDX-License-Identifier: Apache-2.0

//go:build !race

package metadata_test

import (
	"context"
	"testing"

	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/metadata"
)

func TestAllocations(t *testing.T) {
	ctx := metadata.NewOutgoingContext(context.Background(), metadata.Pairs("a", "1", "b", "2"))
	var appended context.Context
	n := testing.AllocsPerRun(100, func() { appended = metadata.AppendToOutgoingContext(ctx, "k", "v") })
	if n > 2 {
		t.Errorf("AppendToOutgoingContext allocates %v times", n)
	}
	count := 0
	n = testing.AllocsPerRun(100, func() {
		ctxkey.OutgoingFrom(appended).Range(func(string, string) bool { count++; return true })
	})
	if n > 0 || count == 0 {
		t.Errorf("reading to send allocates %v times", n)
	}
	in := metadata.NewIncomingContext(context.Background(), metadata.Pairs("a", "1", "b", "2"))
	n = testing.AllocsPerRun(100, func() { metadata.ValueFromIncomingContext(in, "a") })
	if n > 1 {
		t.Errorf("ValueFromIncomingContext allocates %v times", n)
	}
}

func BenchmarkAppend(b *testing.B) {
	ctx := metadata.NewOutgoingContext(context.Background(), metadata.Pairs("a", "1", "b", "2"))
	b.ReportAllocs()
	for b.Loop() {
		metadata.AppendToOutgoingContext(ctx, "k", "v")
	}
}
