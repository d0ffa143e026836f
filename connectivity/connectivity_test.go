// SPDX-License-Identifier: Apache-2.0

package connectivity_test

import (
	"testing"

	"google.golang.org/grpc/connectivity"
)

func TestNames(t *testing.T) {
	for i, want := range []string{"IDLE", "CONNECTING", "READY", "TRANSIENT_FAILURE", "SHUTDOWN", "INVALID_STATE"} {
		if got := connectivity.State(i).String(); got != want {
			t.Errorf("State %d prints %q, want %q", i, got, want)
		}
	}
	for i, want := range []string{"STARTING", "SERVING", "NOT_SERVING"} {
		if got := connectivity.ServingMode(i).String(); got != want {
			t.Errorf("ServingMode %d prints %q, want %q", i, got, want)
		}
	}
}
