// SPDX-License-Identifier: Apache-2.0

package altsconn

import "golang.org/x/sys/unix"

const canSetLowWater = true

func setLowWater(fd uintptr, n int) error {
	return unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT, n)
}
