// SPDX-License-Identifier: Apache-2.0

package sockopt

import (
	"time"

	"golang.org/x/sys/unix"
)

func roundTrip(fd int) time.Duration {
	info, err := unix.GetsockoptTCPInfo(fd, unix.SOL_TCP, unix.TCP_INFO)
	if err != nil {
		return 0
	}
	return time.Duration(info.Rtt) * time.Microsecond
}
