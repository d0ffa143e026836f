// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"google.golang.org/grpc/internal/transport"
)

func TestReasonOf(t *testing.T) {
	op := func(err error) error { return fmt.Errorf("error reading: %w", &net.OpError{Op: "read", Err: err}) }
	for want, errs := range map[string][]error{
		"connection reset":     {op(syscall.ECONNRESET)},
		"connection timed out": {transport.ErrNotAlive, op(syscall.ETIMEDOUT), op(os.ErrDeadlineExceeded), context.DeadlineExceeded},
		"connection aborted":   {op(syscall.ECONNABORTED)},
		"subchannel shutdown":  {context.Canceled},
		"socket error":         {op(syscall.EPIPE), op(os.NewSyscallError("read", syscall.EHOSTUNREACH))},
		"unknown":              {io.EOF, errors.New("x"), op(net.ErrClosed), &net.DNSError{}, nil},
	} {
		for _, err := range errs {
			if got := reasonOf(err); got != want {
				t.Errorf("%v: %q, want %q", err, got, want)
			}
		}
	}
}
