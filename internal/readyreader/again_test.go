// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
)

func TestAgain(t *testing.T) {
	for err, want := range map[error]bool{
		ErrWouldBlock:          true,
		os.ErrDeadlineExceeded: true,
		io.EOF:                 false,
		net.ErrClosed:          false,
		syscall.ETIMEDOUT:      false, // TCP gave up
		&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ETIMEDOUT)}: false,
		fmt.Errorf("tls: %w", os.ErrDeadlineExceeded):                                true,
		&net.OpError{Op: "read", Err: net.ErrClosed}:                                 false,
	} {
		if got := Again(err); got != want {
			t.Errorf("%v: %t, want %t", err, got, want)
		}
	}
	if Again(nil) {
		t.Error("nothing failed")
	}
}
