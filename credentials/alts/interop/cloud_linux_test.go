// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// cloudScript makes the machine look like one of Google's, in the mount namespace it
// runs in and nowhere else, and becomes the program given. Where the system has no DMI
// table there is no file to cover, so all of the folder is.
const cloudScript = `set -e
mount --make-rprivate /
if [ -e /sys/class/dmi/id/product_name ]; then
	name=$(mktemp)
	echo Google > "$name"
	mount --bind "$name" /sys/class/dmi/id/product_name
	rm "$name"
else
	mount -t tmpfs tmpfs /sys/class
	mkdir -p /sys/class/dmi/id
	echo Google > /sys/class/dmi/id/product_name
fi
exec "$@"`

// inCloud makes cmd run where the machine is one of Google's.
func inCloud(cmd *exec.Cmd) *exec.Cmd {
	cmd.Args = append([]string{"sh", "-c", cloudScript, "sh", cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	cmd.SysProcAttr = attr
	return cmd
}

// needCloud skips the test where inCloud doesn't work.
func needCloud(t testing.TB) {
	t.Helper()
	out, err := inCloud(exec.Command("/bin/cat", "/sys/class/dmi/id/product_name")).CombinedOutput()
	if err != nil || string(out) != "Google\n" {
		t.Skipf("the published module does ALTS only on Google's platform, and this system doesn't let a test pretend that it is one: %v: %s", err, out)
	}
}
