// SPDX-License-Identifier: Apache-2.0

package frame

import "strconv"

// Error says what is wrong with a frame that the peer sent. It is always returned as a value, so
// errors.As needs a variable of type Error, not *Error.
type Error struct {
	// Code is the error code for the RST_STREAM or the GOAWAY.
	Code ErrCode
	// StreamID is the stream to reset. 0 means a connection error
	// (section 5.4.1): the connection cannot go on.
	StreamID uint32
	// Reason says in words which rule was broken.
	Reason string
}

// ConnError returns a connection error: the caller sends GOAWAY and closes the connection.
func ConnError(code ErrCode, reason string) error {
	return Error{Code: code, Reason: reason}
}

// StreamError returns a stream error: the caller sends RST_STREAM, and the connection goes on.
//
// No RST_STREAM may be sent for an idle stream (section 6.4), but a frame may name one; PRIORITY is
// even legal there. So the code that turns the error into a frame checks the state of the stream first.
// It may always end the connection instead (section 5.4.1).
func StreamError(streamID uint32, code ErrCode, reason string) error {
	return Error{Code: code, StreamID: streamID, Reason: reason}
}

// IsConn reports whether e is a connection error.
func (e Error) IsConn() bool { return e.StreamID == 0 }

// Error implements error.
func (e Error) Error() string {
	if e.IsConn() {
		return "connection error: " + e.Code.String() + ": " + e.Reason
	}
	return "stream " + strconv.FormatUint(uint64(e.StreamID), 10) +
		" error: " + e.Code.String() + ": " + e.Reason
}
