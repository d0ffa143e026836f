// SPDX-License-Identifier: Apache-2.0

//go:build unix && (!linux || race || msan || asan)

package readyreader

import "syscall"

func sysRead(fd int, p []byte) (int, error) { return syscall.Read(fd, p) }

func sysWrite(fd int, p []byte) (int, error) { return syscall.Write(fd, p) }

// announceWrite tells the race detector that who reads what is about to be written comes after
// it: see readOnce. A write that fails does, and nothing else that has access to the variable.
func announceWrite() { _, _ = syscall.Write(-1, nil) }
