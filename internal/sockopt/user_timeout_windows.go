// SPDX-License-Identifier: Apache-2.0

package sockopt

import (
	"time"

	"golang.org/x/sys/windows"
)

const hasUserTimeout = true

func setUserTimeout(fd uintptr, d time.Duration) error {
	return windows.SetsockoptInt(windows.Handle(fd), windows.IPPROTO_TCP, windows.TCP_MAXRT, inSeconds(d))
}
