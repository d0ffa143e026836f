// SPDX-License-Identifier: Apache-2.0

package frame

import "encoding/binary"

const priorityLen = 5

// PriorityParam is the priority part of a HEADERS or a PRIORITY frame. RFC 9113 section 5.3.2
// deprecates priorities: the fields are parsed and otherwise unused.
type PriorityParam struct {
	Dep       uint32 // the stream that this one depends on
	Exclusive bool
	Weight    uint8 // as on the wire: the weight minus one
}

// ParsePriority checks the payload p of a PRIORITY frame, which is legal on a
// stream in any state, idle included (section 6.3). Nobody needs what it says.
func ParsePriority(h Header, p []byte) error {
	if err := h.of(p).checkPriority(); err != nil {
		return err
	}
	return parsePriorityParam(p).check(h.StreamID)
}

// check returns an error if the stream depends on itself. RFC 7540 section 5.3.1 has this rule, and RFC
// 9113 dropped it together with priorities. Peers from the time of RFC 7540 test for it, and no sane
// sender breaks it.
func (pp PriorityParam) check(streamID uint32) error {
	if pp.Dep == streamID {
		return StreamError(streamID, ProtocolError, "priority: stream depends on itself")
	}
	return nil
}

func parsePriorityParam(p []byte) PriorityParam {
	dep := binary.BigEndian.Uint32(p)
	return PriorityParam{
		Dep:       dep & streamIDMask,
		Exclusive: dep&^streamIDMask != 0,
		Weight:    p[4],
	}
}

// checkPriority: section 6.3 makes a wrong length a stream error, unlike that of
// most frames of a fixed length.
func (h Header) checkPriority() error {
	if err := h.needStream(); err != nil {
		return err
	}
	if h.Length != priorityLen {
		return h.sizeError("length is not 5")
	}
	return nil
}
