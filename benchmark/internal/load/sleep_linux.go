// SPDX-License-Identifier: Apache-2.0

package load

import (
	"syscall"
	"time"
)

// sleep sleeps in the kernel: the runtime's own timers have steps of a millisecond while
// nothing runs.
func sleep(d time.Duration) {
	ts := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&ts, nil) // a signal ends it early, and the caller looks again
}
