// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"errors"
	"net"
	"syscall"
)

// Again reports whether what failed with err can be tried again: it was for want of input or
// room, or a deadline. What is in hand then stays in hand.
func Again(err error) bool { return err == ErrWouldBlock || err != nil && timedOut(err) }

// timedOut reports whether a deadline has passed. A connection that TCP gave up says it timed out,
// too, and says it once.
func timedOut(err error) bool {
	if errors.Is(err, syscall.ETIMEDOUT) {
		return false
	}
	ne, ok := errors.AsType[net.Error](err)
	return ok && ne.Timeout()
}
