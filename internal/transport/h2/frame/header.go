// SPDX-License-Identifier: Apache-2.0

package frame

import "encoding/binary"

const (
	// HeaderLen is the length in bytes of the header before every payload.
	HeaderLen = 9
	// MinMaxFrameSize is the payload size that every peer accepts: the default
	// of SETTINGS_MAX_FRAME_SIZE and the least it may be set to.
	MinMaxFrameSize = 16384
	// MaxMaxFrameSize is the largest legal SETTINGS_MAX_FRAME_SIZE.
	MaxMaxFrameSize = 1<<24 - 1
	// ClientPreface is what a client sends before its first frame, section 3.4.
	ClientPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

	// streamIDMask removes the reserved bit, which is ignored on receipt.
	streamIDMask = 1<<31 - 1
)

// Header is the frame header, RFC 9113 section 4.1.
type Header struct {
	Length   uint32 // of the payload in bytes; 24 bits on the wire
	Type     Type
	Flags    Flags
	StreamID uint32 // 31 bits; 0 is the connection
}

// ParseHeader parses the first HeaderLen bytes of b, which must have at least that many. It removes the
// reserved bit, and checks no rule: see [Header.Check].
func ParseHeader(b []byte) Header {
	_ = b[HeaderLen-1]
	return Header{
		Length:   uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]),
		Type:     Type(b[3]),
		Flags:    Flags(b[4]),
		StreamID: parseStreamID(b[5:]),
	}
}

// LooksLikeHTTP1 reports whether the bytes of the header are the beginning of an HTTP/1.1 response,
// from a server that does not speak HTTP/2.
func (h Header) LooksLikeHTTP1() bool {
	return string(AppendHeader(make([]byte, 0, HeaderLen), h)) == "HTTP/1.1 "
}

// AppendHeader appends h. Length and StreamID must fit their 24 and 31 bits.
func AppendHeader(dst []byte, h Header) []byte {
	dst = append(dst, byte(h.Length>>16), byte(h.Length>>8), byte(h.Length), byte(h.Type), byte(h.Flags))
	return binary.BigEndian.AppendUint32(dst, h.StreamID&streamIDMask)
}

// sizeError returns the error for a frame of a wrong size. RFC 9113 section 4.2: "A frame size error in
// a frame that could alter the state of the entire connection MUST be treated as a connection error".
// Such frames are those with a part of a field block, SETTINGS, and all frames on stream 0.
func (h Header) sizeError(reason string) error {
	if h.StreamID == 0 || h.Type == Settings || h.Type.carriesFieldBlock() {
		return ConnError(FrameSizeError, h.Type.String()+": "+reason)
	}
	return StreamError(h.StreamID, FrameSizeError, h.Type.String()+": "+reason)
}

// needStream returns an error if h is on stream 0. It is for types that belong on a stream.
func (h Header) needStream() error {
	if h.StreamID == 0 {
		return ConnError(ProtocolError, h.Type.String()+" on stream 0")
	}
	return nil
}

// needConn returns an error if h is on a stream other than 0. It is for types that belong to the
// connection.
func (h Header) needConn() error {
	if h.StreamID != 0 {
		return ConnError(ProtocolError, h.Type.String()+" on a stream other than 0")
	}
	return nil
}

// of returns h with the length of p. The Parse functions check that length, and not the one in h. So
// they can't index out of range if p is not as long as h says.
func (h Header) of(p []byte) Header {
	h.Length = uint32(len(p))
	return h
}

func parseStreamID(b []byte) uint32 { return binary.BigEndian.Uint32(b) & streamIDMask }
