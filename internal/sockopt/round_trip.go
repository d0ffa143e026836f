// SPDX-License-Identifier: Apache-2.0

package sockopt

import (
	"syscall"
	"time"
)

// RoundTrip returns TCP's smoothed estimate of the round trip of a socket. It returns 0 where that is not
// known: for nil, a socket that is closed or not of TCP, and systems other than Linux and macOS.
func RoundTrip(rc syscall.RawConn) (d time.Duration) {
	if rc == nil {
		return 0
	}
	_ = rc.Control(func(fd uintptr) { d = roundTrip(int(fd)) }) // its error is that the socket is closed
	return d
}
