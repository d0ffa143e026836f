// SPDX-License-Identifier: Apache-2.0

package sockopt

import (
	"time"

	"golang.org/x/sys/unix"
)

func roundTrip(fd int) time.Duration {
	info, err := unix.GetsockoptTCPConnectionInfo(fd, unix.IPPROTO_TCP, unix.TCP_CONNECTION_INFO)
	if err != nil {
		return 0
	}
	return time.Duration(info.Srtt) * time.Millisecond
}
