// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
	"testing"

	"google.golang.org/grpc/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// atMostAllocs fails the test if f allocates more than limit times a run.
func atMostAllocs(t *testing.T, limit float64, f func()) {
	t.Helper()
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	if got := testing.AllocsPerRun(200, f); got > limit {
		t.Errorf("got %v allocations a run, want at most %v", got, limit)
	}
}
