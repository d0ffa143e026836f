// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"os"
	"os/exec"
	"syscall"
)

// script covers the product name and becomes the program that its arguments name. A
// system without a DMI table has no such file: there the folder above is covered.
const script = `set -e
mount --make-rprivate /
if [ -e ` + productName + ` ]; then
	fake=$(mktemp)
	echo Google > "$fake"
	mount --bind "$fake" ` + productName + `
	rm "$fake"
else
	mount -t tmpfs none /sys/class
	mkdir -p ${0%/*}
	echo Google > "$0"
fi
exec "$@"`

func pretend(cmd *exec.Cmd) error {
	if cmd.Err != nil {
		return cmd.Err
	}
	shell, err := exec.LookPath("sh")
	if err != nil {
		return err
	}
	// What follows the script is $0, then the program and its arguments.
	cmd.Args = append([]string{"sh", "-c", script, productName, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = shell
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if uid := os.Geteuid(); uid != 0 { // who may not mount here may in a user namespace, perhaps
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}
	cmd.SysProcAttr = attr
	return nil
}
