// SPDX-License-Identifier: Apache-2.0

package farpath

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// inNamespace tells this program that a test started it as root of a user namespace.
const inNamespace = "FARPATH_TEST_IN_NAMESPACE"

func TestAsRoot(t *testing.T) {
	if os.Getenv(inNamespace) != "" {
		near, far := connect(t, newPath(t, Shape{}, ""))
		arrives(t, near, far, random(1<<20))
		return
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestAsRoot$", "-test.v")
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	AsRoot(cmd)
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v:\n%s", err, out.String())
	}
	if bytes.Contains(out.Bytes(), []byte("--- SKIP")) {
		t.Skipf("not in a user namespace either:\n%s", out.String())
	}
}
