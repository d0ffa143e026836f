// SPDX-License-Identifier: Apache-2.0

package sockopt

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/internal/testutils"
)

func TestRoundTrip(t *testing.T) {
	if RoundTrip(nil) != 0 {
		t.Error("nothing has a round trip")
	}
	known := runtime.GOOS == "linux"
	for _, network := range []string{"tcp", "unix"} {
		a, _ := testutils.Sockets(t, network)
		rc, err := a.(syscall.Conn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		d := RoundTrip(rc)
		if known && network == "tcp" && (d <= 0 || d > time.Minute) || network == "unix" && d != 0 {
			t.Errorf("%s: %v", network, d)
		}
		a.Close()
		if d := RoundTrip(rc); d != 0 {
			t.Errorf("%s, closed: %v", network, d)
		}
	}
}
