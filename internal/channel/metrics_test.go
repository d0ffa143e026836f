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
		"connection reset":     {op(syscall.ECONNRESET), op(os.NewSyscallError("wsarecv", wsaConnReset))},
		"connection timed out": {transport.ErrNotAlive, op(syscall.ETIMEDOUT), op(os.NewSyscallError("wsarecv", wsaTimedOut)), op(os.ErrDeadlineExceeded), context.DeadlineExceeded},
		"connection aborted":   {op(syscall.ECONNABORTED), op(os.NewSyscallError("wsasend", wsaConnAborted))},
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

// TestUnusableIsNotCounted: an RPC that finds its connection lost takes it away. Who knows why it is lost counts it.
func TestUnusableIsNotCounted(t *testing.T) {
	sub, _, _ := scaled()
	l, other := &Link{sub: sub, addr: &sub.addrs[0]}, &Link{sub: sub, addr: &sub.addrs[0]}
	l.counted.Store(true)
	sub.locked(func() {
		sub.succeededLocked(l)
		sub.useLocked(l)
		sub.addLocked(other)
	})
	l.Unusable()
	if !l.counted.Load() || l.reason != "" {
		t.Errorf("counted as lost, reason %q", l.reason)
	}
	if sub.Ready() != other {
		t.Error("RPCs may still use it")
	}
}
