// SPDX-License-Identifier: Apache-2.0

package frame

import "encoding/binary"

const goAwayLen = 8 // without debug data

// GoAwayFrame is a GOAWAY payload, RFC 9113 section 6.8.
type GoAwayFrame struct {
	// LastStreamID is the highest stream the sender may have acted on.
	LastStreamID uint32
	Code         ErrCode
	// Debug is opaque, untrusted, and a view of the payload.
	Debug []byte
}

// ParseGoAway reads the payload p of a GOAWAY frame.
func ParseGoAway(h Header, p []byte) (GoAwayFrame, error) {
	if err := h.of(p).checkGoAway(); err != nil {
		return GoAwayFrame{}, err
	}
	return GoAwayFrame{
		LastStreamID: parseStreamID(p),
		Code:         ErrCode(binary.BigEndian.Uint32(p[4:])),
		Debug:        p[goAwayLen:],
	}, nil
}

// AppendGoAway appends a GOAWAY frame. Debug data that would take the frame past
// MinMaxFrameSize, which any peer accepts, is cut off.
func AppendGoAway(dst []byte, lastStreamID uint32, code ErrCode, debug []byte) []byte {
	debug = debug[:min(len(debug), MinMaxFrameSize-goAwayLen)]
	dst = AppendHeader(dst, Header{Length: uint32(goAwayLen + len(debug)), Type: GoAway})
	dst = binary.BigEndian.AppendUint32(dst, lastStreamID&streamIDMask)
	dst = binary.BigEndian.AppendUint32(dst, uint32(code))
	return append(dst, debug...)
}

func (h Header) checkGoAway() error {
	if err := h.needConn(); err != nil {
		return err
	}
	if h.Length < goAwayLen {
		return ConnError(FrameSizeError, "GOAWAY: shorter than 8")
	}
	return nil
}
