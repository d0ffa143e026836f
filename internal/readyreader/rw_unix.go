// SPDX-License-Identifier: Apache-2.0

//go:build unix && (!linux || race || msan || asan)

package readyreader

import "syscall"

func sysRead(fd int, p []byte) (int, error) { return syscall.Read(fd, p) }

func sysWrite(fd int, p []byte) (int, error) { return syscall.Write(fd, p) }
