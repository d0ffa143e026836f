// SPDX-License-Identifier: Apache-2.0

package farpath

import (
	"os"
	"os/exec"
	"syscall"
)

// AsRoot changes a command that was not started so that its program is root in a user namespace
// of its own, where New works if the system lets everybody open TUN devices there.
func AsRoot(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}},
	}
}
