// SPDX-License-Identifier: Apache-2.0

package conn

import "syscall"

const canSetLowWater = true

func setLowWater(fd uintptr, n int) error {
	return syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, n)
}
