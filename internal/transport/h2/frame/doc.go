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
// The payload of DATA need not be contiguous: see [DataPadding]. Frames of a type that this package
// does not name must be skipped (RFC 9113 section 5.5).
//
// Every Append function takes and returns a slice, like append. A slice that a Parse function returns
// is a view of the payload that the function was given, and is valid as long as that payload is.
//
// The connection, not this package, applies the rules that depend on earlier frames or on the side: an
// open CONTINUATION sequence, the state of a stream, which side is the client.
package frame
