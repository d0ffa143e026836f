// SPDX-License-Identifier: Apache-2.0

//go:build unix && (!linux || race || msan || asan || 386 || s390x)

// Where all calls of a socket are one system call (386, s390x), none is made without telling the scheduler.

package readyreader

import "syscall"

func sysRead(fd int, p []byte) (int, error) { return syscall.Read(fd, p) }

func sysWrite(fd int, p []byte) (int, error) { return syscall.Write(fd, p) }
