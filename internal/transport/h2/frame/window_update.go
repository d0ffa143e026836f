// SPDX-License-Identifier: Apache-2.0

package frame

import "encoding/binary"

const (
	windowUpdateLen = 4
	// maxWindowSize bounds a flow-control window, section 6.9.1.
	maxWindowSize = 1<<31 - 1
)

// ParseWindowUpdate reads the payload p of a WINDOW_UPDATE frame, RFC 9113 section 6.9. It returns an
// increment from 1 to 2^31-1, without the reserved bit.
func ParseWindowUpdate(h Header, p []byte) (uint32, error) {
	if err := h.of(p).checkWindowUpdate(); err != nil {
		return 0, err
	}
	increment := binary.BigEndian.Uint32(p) & maxWindowSize
	// Section 6.9: an increment of 0 is a stream error PROTOCOL_ERROR, and "errors on the connection
	// flow-control window MUST be treated as a connection error". A StreamError with a StreamID of 0 is
	// a connection error.
	if increment == 0 {
		return 0, StreamError(h.StreamID, ProtocolError, "WINDOW_UPDATE: increment of 0")
	}
	return increment, nil
}

// AppendWindowUpdate appends a WINDOW_UPDATE frame. increment is at most 2^31-1. For 0, which no frame
// may have, it appends nothing: package flow returns 0 when there is nothing to grant yet.
func AppendWindowUpdate(dst []byte, streamID, increment uint32) []byte {
	if increment == 0 {
		return dst
	}
	dst = AppendHeader(dst, Header{Length: windowUpdateLen, Type: WindowUpdate, StreamID: streamID})
	return binary.BigEndian.AppendUint32(dst, increment&maxWindowSize)
}

// checkWindowUpdate: section 6.9 makes a wrong length a connection error.
func (h Header) checkWindowUpdate() error {
	if h.Length != windowUpdateLen {
		return ConnError(FrameSizeError, "WINDOW_UPDATE: length is not 4")
	}
	return nil
}
