// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package interop

import (
	"os/exec"
	"testing"
)

func inCloud(cmd *exec.Cmd) *exec.Cmd { return cmd }

func needCloud(t testing.TB) {
	t.Helper()
	t.Skip("the published module does ALTS only on Google's platform; a test can pretend to be on it only under Linux")
}
