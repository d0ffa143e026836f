// SPDX-License-Identifier: Apache-2.0

package testutils

import (
	"io"
	"os/exec"
	"testing"
)

// StartPiped starts a program that is written to and read by the test. Who calls it waits for its
// end.
func StartPiped(t testing.TB, cmd *exec.Cmd) (in io.WriteCloser, out io.Reader) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err = cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return in, out
}
