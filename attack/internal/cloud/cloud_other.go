// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package cloud

import (
	"errors"
	"os/exec"
)

func pretend(*exec.Cmd) error {
	return errors.New("ALTS needs Google's platform; a program can pretend that it is there only under Linux")
}
