// SPDX-License-Identifier: Apache-2.0

//go:build unix

package testutils

import (
	"syscall"
	"time"
)

// CPUTime returns the processor time that the process has used, which others on the machine
// disturb less than the time that passes.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
