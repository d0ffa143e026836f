// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
)

func TestReasonOf(t *testing.T) {
	op := func(err error) error { return fmt.Errorf("error reading: %w", &net.OpError{Op: "read", Err: err}) }
	for want, errs := range map[string][]error{
		"connection reset":     {op(syscall.ECONNRESET)},
		"connection timed out": {op(syscall.ETIMEDOUT), op(os.ErrDeadlineExceeded)},
		"connection aborted":   {op(syscall.ECONNABORTED)},
		"socket error":         {op(syscall.EPIPE)},
		"unknown":              {io.EOF, errors.New("x"), nil},
	} {
		for _, err := range errs {
			if got := reasonOf(err); got != want {
				t.Errorf("%v: %q, want %q", err, got, want)
			}
		}
	}
}
