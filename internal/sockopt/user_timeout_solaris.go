// SPDX-License-Identifier: Apache-2.0

package sockopt

import (
	"time"

	"golang.org/x/sys/unix"
)

const hasUserTimeout = true

func setUserTimeout(fd uintptr, d time.Duration) error {
	return unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_ABORT_THRESHOLD, inMilliseconds(d))
}
