// SPDX-License-Identifier: Apache-2.0

//go:build unix

package readyreader

import "syscall"

// peekable reports whether a read from fd would not block.
func peekable(fd int) bool {
	var p [1]byte
	for {
		_, _, err := syscall.Recvfrom(fd, p[:], syscall.MSG_PEEK)
		if err != syscall.EINTR {
			return err != syscall.EAGAIN
		}
	}
}
