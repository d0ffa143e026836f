// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"fmt"
	"net"
)

// WhyNot returns why s can't be waited for without a goroutine, or "" if it can be, as far as is known.
// pooled says whether s is read with pooled buffers.
func WhyNot(s Socket, pooled bool) string {
	if !pooled {
		return "reading with pooled buffers is off"
	}
	why := s.WhyNot()
	switch {
	case why != "" || s.Can().Has(TriesReads):
		return why
	case s.Can().Has(ReadsReady):
		return fmt.Sprintf("%T is waited for in a ReadOnReady of its own", s.Conn)
	case SocketBelow(s.Conn) == nil:
		return fmt.Sprintf("%T is no socket, and does not show one below it", s.Conn)
	}
	return readsItself(s.Conn)
}

// readsItself returns the reason for a wrapper with a Read of its own.
func readsItself(conn net.Conn) string {
	return fmt.Sprintf("%T has a Read of its own, in which it is waited for", conn)
}
