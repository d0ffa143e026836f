// SPDX-License-Identifier: Apache-2.0

package testutils

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"syscall"
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
	out, err := cmd.CombinedOutput()
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		t.Skip("the kernel does not run this program, which an emulator does")
	case err != nil:
		t.Errorf("%v\n%s", err, out)
	}
	return false
}
