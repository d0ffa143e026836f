// SPDX-License-Identifier: Apache-2.0

//go:build !unix && (!windows || race)

package readyreader

import "syscall"

// What the system calls them.
var errReset, errShutDown error = syscall.Errno(10054), syscall.Errno(10058)

const deadlinesEndAttempts = true

// looksKeepErrors says whether a socket that was looked at still has its error. Wine hands it out
// once, to whoever asks first.
const looksKeepErrors = true

// peekable is not called here: needsDescriptor skips its users.
func peekable(int) bool { return true }
