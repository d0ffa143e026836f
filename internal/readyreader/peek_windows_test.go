// SPDX-License-Identifier: Apache-2.0

//go:build !race

package readyreader

import "golang.org/x/sys/windows"

// What the system calls them.
var (
	errReset    error = windows.WSAECONNRESET
	errShutDown error = windows.WSAESHUTDOWN
)

// deadlinesEndAttempts says whether a deadline that has passed also ends what need not wait.
const deadlinesEndAttempts = false

// looksKeepErrors says whether a socket that was looked at still has its error. Wine hands it out
// once, to whoever asks first.
const looksKeepErrors = false

// peekable reports whether a read from fd would not block.
func peekable(fd int) bool { return isReadable(uintptr(fd)) }
