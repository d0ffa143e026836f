// SPDX-License-Identifier: Apache-2.0

package tlsconn

import (
	"runtime"
	"testing"

	"google.golang.org/grpc/internal/tlsconn/tlsbuf"
)

func TestKnownGoVersions(t *testing.T) {
	if !tlsbuf.Tested() {
		t.Errorf("%s is not known: see tlsbuf/versions.go", runtime.Version())
	}
	if err := StoodAside(); err != nil {
		t.Errorf("buffers are not released with %s: %v", runtime.Version(), err)
	}
}
