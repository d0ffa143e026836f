// SPDX-License-Identifier: Apache-2.0

// Package frame reads and writes the HTTP/2 frames of RFC 9113 section 6 as
// byte slices. It does no I/O, keeps no state and allocates only to report an
// error.
//
// Reading a frame takes three steps, in this order:
//
//	h := frame.ParseHeader(b)         // 9 bytes
//	err := h.Check(ourMaxFrameSize)   // before the payload is looked at
//	f, err := frame.ParseSettings(h, payload)
//
// A payload of type DATA need not be contiguous: see [DataPadding]. Frames of a
// type that is not named here must be skipped (RFC 9113 section 5.5).
//
// Every Append function takes and returns a slice in the manner of append. What
// a Parse function returns as a slice is a view of the payload it was given,
// and is valid as long as that payload is.
//
// Rules that need to know what came before (an open CONTINUATION sequence, the
// state of a stream, which side is the client) are the connection's, not this
// package's.
package frame
