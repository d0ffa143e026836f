// SPDX-License-Identifier: Apache-2.0

package frame

// HeadersFrame is a HEADERS payload, RFC 9113 section 6.2.
type HeadersFrame struct {
	// Fragment is the field block, or its beginning if EndHeaders is false.
	// It is a view of the payload.
	Fragment   []byte
	EndStream  bool
	EndHeaders bool
	// Priority means something only if HasPriority is set.
	HasPriority bool
	Priority    PriorityParam
}

// ParseHeaders reads the payload p of a HEADERS frame.
//
// If it returns a stream error, it also returns the whole frame. Its fragment must still go through
// HPACK (section 4.3), as otherwise every later field block of the connection would be decoded wrongly.
func ParseHeaders(h Header, p []byte) (HeadersFrame, error) {
	if err := h.of(p).checkHeaders(); err != nil {
		return HeadersFrame{}, err
	}
	f := HeadersFrame{
		EndStream:   h.Flags.Has(FlagEndStream),
		EndHeaders:  h.Flags.Has(FlagEndHeaders),
		HasPriority: h.Flags.Has(FlagPriority),
	}
	pad := 0
	if h.Flags.Has(FlagPadded) {
		pad, p = int(p[0]), p[1:]
	}
	if f.HasPriority {
		f.Priority, p = parsePriorityParam(p), p[priorityLen:]
	}
	// Section 6.2 says PROTOCOL_ERROR. It is a connection error, as there is no fragment with which to
	// keep the HPACK state in step. The padding may fill all the room that there is for a fragment.
	if pad > len(p) {
		return HeadersFrame{}, ConnError(ProtocolError, "HEADERS: padding longer than the payload")
	}
	f.Fragment = p[:len(p)-pad]
	if f.HasPriority {
		return f, f.Priority.check(h.StreamID)
	}
	return f, nil
}

// IsFieldBlock reports whether the payload of the HEADERS frame with header h is a whole field block
// and nothing else, which is the usual case.
func (h Header) IsFieldBlock() bool {
	const all = FlagEndHeaders | FlagPadded | FlagPriority
	return h.Flags&all == FlagEndHeaders && h.StreamID != 0
}

func (h Header) checkHeaders() error {
	if err := h.needStream(); err != nil {
		return err
	}
	var least uint32
	if h.Flags.Has(FlagPadded) {
		least++
	}
	if h.Flags.Has(FlagPriority) {
		least += priorityLen
	}
	if h.Length < least {
		return h.sizeError("too short for its flags")
	}
	return nil
}

// ReserveHeaders appends room for a frame header. The caller appends the field
// block after it and then calls [FinishHeaders] with the length dst had before
// the reservation.
func ReserveHeaders(dst []byte) []byte {
	return append(dst, make([]byte, HeaderLen)...)
}

// FinishHeaders turns dst[start:], which is a reserved header and a field block of any length, into a
// HEADERS frame and the CONTINUATION frames that it needs. maxFrame is the peer's
// SETTINGS_MAX_FRAME_SIZE; a value outside of the legal range counts as the nearest legal one. Nothing
// may follow the block in dst. The block is moved, and dst grows, only if the block does not fit one
// frame.
func FinishHeaders(dst []byte, start int, streamID uint32, endStream bool, maxFrame uint32) []byte {
	maxLen := int(min(max(maxFrame, MinMaxFrameSize), MaxMaxFrameSize))
	blockLen := len(dst) - start - HeaderLen
	more := 0 // CONTINUATION frames
	if blockLen > maxLen {
		more = (blockLen - 1) / maxLen
		dst = spread(dst, start, maxLen, more)
	}
	for i := range more + 1 {
		n := min(maxLen, blockLen)
		h := Header{
			Length:   uint32(n),
			Type:     Continuation,
			Flags:    FlagEndHeaders.when(i == more),
			StreamID: streamID,
		}
		if i == 0 {
			h.Type = Headers
			h.Flags |= FlagEndStream.when(endStream)
		}
		at := start + i*(HeaderLen+maxLen)
		AppendHeader(dst[at:at:at+HeaderLen], h)
		blockLen -= n
	}
	return dst
}

// spread grows dst and makes room for a header before every fragment except the first. It moves the
// last fragment first. Each fragment moves towards the end, into new room or room that the next
// fragment has left.
func spread(dst []byte, start, maxLen, more int) []byte {
	end := len(dst)
	dst = append(dst, make([]byte, more*HeaderLen)...)
	for i := more; i > 0; i-- {
		from := start + HeaderLen + i*maxLen
		copy(dst[from+i*HeaderLen:], dst[from:end])
		end = from
	}
	return dst
}
