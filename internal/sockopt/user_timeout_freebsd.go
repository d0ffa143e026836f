// SPDX-License-Identifier: Apache-2.0

package sockopt

import (
	"time"

	"golang.org/x/sys/unix"
)

const hasUserTimeout = true

// tcpMaxUnackTime is TCP_MAXUNACKTIME of netinet/tcp.h, which package unix does not have.
const tcpMaxUnackTime = 68

func setUserTimeout(fd uintptr, d time.Duration) error {
	return unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, tcpMaxUnackTime, inSeconds(d))
}
