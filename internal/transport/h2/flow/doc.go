// SPDX-License-Identifier: Apache-2.0

// Package flow does the arithmetic of HTTP/2 flow control, RFC 9113 section 6.9:
// what may be sent ([Outflow]), what was granted to the peer ([Inflow]), and how
// large a grant the path deserves ([BDP]).
//
// The package is pure: it has no I/O, no clock and no locks. A value may be used by one goroutine at a
// time: the caller guards it with a lock, or uses it on one goroutine only.
//
// An error means that the peer broke a rule. The code is always FLOW_CONTROL_ERROR. Whether the stream
// or the connection ends depends on whose window it was, which the caller knows.
package flow
