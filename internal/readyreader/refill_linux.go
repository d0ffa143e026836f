// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"time"

	"golang.org/x/sys/unix"
)

// farTripOf returns the shortest round trip that the kernel has seen lately on a TCP socket's path, if the
// path is far, and 0 otherwise.
func farTripOf(fd uintptr) time.Duration {
	info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil || info.Min_rtt == 1<<32-1 { // none seen
		return 0
	}
	if trip := time.Duration(info.Min_rtt) * time.Microsecond; trip >= farTrip {
		return trip
	}
	return 0
}
