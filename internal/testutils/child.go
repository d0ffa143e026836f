// SPDX-License-Identifier: Apache-2.0

package testutils

import (
	"os"
	"os/exec"
	"slices"
	"testing"
)

// InChild runs the test in a process of its own, whose environment has env too. It returns true
// there, and false in the parent, for which the child has done it all.
func InChild(t *testing.T, env string) bool {
	t.Helper()
	const mark = "GRPC_TEST_CHILD=1"
	if slices.Contains(os.Environ(), mark) {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
	cmd.Env = append(os.Environ(), mark, env)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}
