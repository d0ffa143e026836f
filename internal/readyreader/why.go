// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"fmt"
	"net"
)

// WhyNot says why conn can't be waited for without a goroutine, "" if it can be as far as
// is known.
func WhyNot(conn net.Conn, opts Options) string {
	if !opts.Pooled {
		return "reading with pooled buffers is off"
	}
	for _, c := range []any{opts.Writer, conn} {
		if e, ok := c.(Explainer); ok {
			return e.WhyNot()
		}
	}
	if _, ok := Socket(conn, opts); ok {
		return ""
	}
	if descend(conn, inward).better {
		return fmt.Sprintf("%T is waited for in a ReadOnReady of its own", conn)
	}
	if SocketBelow(conn) == nil {
		return fmt.Sprintf("%T is no socket, and does not show one below it", conn)
	}
	return readsItself(conn)
}

// readsItself is the reason of a wrapper with a Read of its own.
func readsItself(conn net.Conn) string {
	return fmt.Sprintf("%T has a Read of its own, in which it is waited for", conn)
}
