// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/balancer/done"
	"google.golang.org/grpc/status"
)

// TestLostPick: policies can tell a pick whose connection was lost before the RPC was sent from an RPC that failed.
// Programs see the same error.
func TestLostPick(t *testing.T) {
	err := status.Error(codes.Unavailable, "gone")
	for barred, unused := range map[barrier]bool{unsent: true, unbarred: false} {
		var got balancer.DoneInfo
		a := Attempt{barred: barred, done: func(i balancer.DoneInfo) { got = i }}
		a.End(err)
		if done.WasUnused(got) != unused {
			t.Errorf("%d: unused %t", barred, !unused)
		}
		if st, ok := status.FromError(got.Err); !ok || st.Code() != codes.Unavailable || st.Message() != "gone" || got.Err.Error() != err.Error() {
			t.Errorf("%d: %v", barred, got.Err)
		}
	}
}
