// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"errors"
	"net"
	"syscall"
)

// Again reports whether the operation that failed with err can be tried again: it lacked input or room, or
// a deadline passed. Bytes that were already read, or taken to be written, are kept.
func Again(err error) bool { return err == ErrWouldBlock || err != nil && timedOut(err) }

// timedOut reports whether err means that a deadline has passed. A connection that TCP has given up reports
// a timeout too (ETIMEDOUT), and only once: that is no deadline.
func timedOut(err error) bool {
	if errors.Is(err, syscall.ETIMEDOUT) {
		return false
	}
	ne, ok := errors.AsType[net.Error](err)
	return ok && ne.Timeout()
}

// ErrWouldBlock says that the operation can't proceed without waiting. It is a
// net.Error that is temporary and not a timeout: crypto/tls leaves a connection
// usable after a Read that failed with such an error, and with no other.
var ErrWouldBlock net.Error = wouldBlock{}

type wouldBlock struct{}

func (wouldBlock) Error() string   { return "readyreader: operation would block" }
func (wouldBlock) Timeout() bool   { return false }
func (wouldBlock) Temporary() bool { return true }
