// SPDX-License-Identifier: Apache-2.0

package frame

import "encoding/binary"

const rstStreamLen = 4

// ParseRSTStream reads the payload p of a RST_STREAM frame, RFC 9113 section 6.4.
func ParseRSTStream(h Header, p []byte) (ErrCode, error) {
	if err := h.of(p).checkRSTStream(); err != nil {
		return 0, err
	}
	return ErrCode(binary.BigEndian.Uint32(p)), nil
}

// AppendRSTStream appends a RST_STREAM frame.
func AppendRSTStream(dst []byte, streamID uint32, code ErrCode) []byte {
	dst = AppendHeader(dst, Header{Length: rstStreamLen, Type: RSTStream, StreamID: streamID})
	return binary.BigEndian.AppendUint32(dst, uint32(code))
}

// checkRSTStream: section 6.4 makes a wrong length a connection error.
func (h Header) checkRSTStream() error {
	if err := h.needStream(); err != nil {
		return err
	}
	if h.Length != rstStreamLen {
		return ConnError(FrameSizeError, "RST_STREAM: length is not 4")
	}
	return nil
}
