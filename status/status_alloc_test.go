// SPDX-License-Identifier: Apache-2.0

//go:build !race

package status_test

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestAllocations(t *testing.T) {
	var sink error
	if n := testing.AllocsPerRun(100, func() { sink = status.Error(codes.NotFound, "x") }); n > 1 {
		t.Errorf("Error allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = status.FromError(sink) }); n > 0 {
		t.Errorf("FromError allocates %v times", n)
	}
}
