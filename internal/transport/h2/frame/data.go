// SPDX-License-Identifier: Apache-2.0

package frame

// DataPadding returns how a DATA payload is divided, RFC 9113 section 6.1. If FlagPadded is set, padLen
// is the first byte of the payload, and the payload is that byte, dataLen bytes of data, and pad bytes
// to discard. Otherwise padLen is ignored, and the payload is Length bytes of data.
//
// All of h.Length counts for flow control, including the padding and the length byte.
func DataPadding(h Header, padLen uint8) (dataLen, pad uint32, err error) {
	if !h.Flags.Has(FlagPadded) {
		return h.Length, 0, nil
	}
	if h.Length == 0 {
		return 0, 0, h.sizeError("no room for the pad length")
	}
	pad = uint32(padLen)
	// "If the length of the padding is the length of the frame payload or
	// greater, the recipient MUST treat this as a connection error".
	if pad >= h.Length {
		return 0, 0, ConnError(ProtocolError, "DATA: padding as long as the payload")
	}
	return h.Length - 1 - pad, pad, nil
}

// AppendDataHeader appends the header of a DATA frame. The caller then writes the n bytes of payload
// right after it. n must be at most the peer's SETTINGS_MAX_FRAME_SIZE.
func AppendDataHeader(dst []byte, streamID uint32, n int, endStream bool) []byte {
	return AppendHeader(dst, Header{
		Length:   uint32(n),
		Type:     Data,
		Flags:    FlagEndStream.when(endStream),
		StreamID: streamID,
	})
}

func (h Header) checkData() error {
	if err := h.needStream(); err != nil {
		return err
	}
	if h.Flags.Has(FlagPadded) && h.Length == 0 {
		return h.sizeError("no room for the pad length")
	}
	return nil
}
