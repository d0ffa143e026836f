// SPDX-License-Identifier: Apache-2.0

package tlsconn

import (
	"go/version"
	"runtime"
	"slices"
	"testing"
)

// known are the versions of Go that this package's tests have run with, in full. A new one
// is put here after a look at what changed in crypto/tls: when its Conn lets go of buffers,
// and what it does after a Read that would block.
var known = []string{"go1.26", "go1.27"}

func TestKnownGoVersions(t *testing.T) {
	if v := version.Lang(runtime.Version()); v != "" && !slices.Contains(known, v) {
		t.Errorf("%s is not known: see known in this file", v)
	}
	if err := StoodAside(); err != nil {
		t.Errorf("buffers are not released with %s: %v", runtime.Version(), err)
	}
}
