// SPDX-License-Identifier: Apache-2.0

// Package flow does the arithmetic of HTTP/2 flow control, RFC 9113 section 6.9:
// what may be sent ([Outflow]), what was granted to the peer ([Inflow]), and how
// large a grant the path deserves ([BDP]).
//
// The package is pure: no I/O, no clock, no locks. A value belongs to the caller that
// holds the lock, or runs the goroutine, that it is used under.
//
// Its errors say that the peer broke a rule, all of them with the code
// FLOW_CONTROL_ERROR. Whether the stream or the connection dies of it depends on
// whose window it was, which the caller knows.
package flow
