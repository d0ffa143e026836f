// SPDX-License-Identifier: Apache-2.0

//go:build unix

package readyreader

import "syscall"

// What the system calls them.
var (
	errReset    error = syscall.ECONNRESET
	errShutDown error = syscall.EPIPE
)

// deadlinesEndAttempts says whether a deadline that has passed also ends what need not wait.
const deadlinesEndAttempts = true

// looksKeepErrors says whether a socket that was looked at still has its error. Wine hands it out
// once, to whoever asks first.
const looksKeepErrors = true

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
