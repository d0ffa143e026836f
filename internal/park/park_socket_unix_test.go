// SPDX-License-Identifier: Apache-2.0

//go:build unix

package park

import (
	"syscall"
	"testing"
)

// neverWaits is true of the sockets of package net.
func neverWaits(testing.TB, syscall.RawConn) {}

func readNow(fd uintptr, p []byte) (int, error) {
	n, err := syscall.Read(int(fd), p)
	if err == syscall.EAGAIN {
		err = errNoInput
	}
	return n, err
}
