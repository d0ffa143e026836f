// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cpu

import (
	"syscall"
	"time"
)

// Used is the time the process ran, in its own code and in the kernel's.
func Used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
