// SPDX-License-Identifier: Apache-2.0

package tlsbuf

import (
	"go/version"
	"runtime"
	"slices"
)

// tested are the versions of Go that package tlsconn's tests have run with, in full. A new one is
// put here after a look at what changed in crypto/tls: when its Conn lets go of buffers, and
// what it does after a Read that would block.
var tested = []string{"go1.26", "go1.27"}

// Tested reports whether this program was built with a version of Go that was tested in full. If it was
// not, memory that was lent to a tls.Conn must not be given to anybody else.
func Tested() bool { return isTested(runtime.Version()) }

// isTested reports whether release belongs to a tested version. A build that is no release, such as one of
// Go's development branch, does not.
func isTested(release string) bool { return slices.Contains(tested, version.Lang(release)) }
