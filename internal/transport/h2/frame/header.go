// SPDX-License-Identifier: Apache-2.0

package frame

import "encoding/binary"

const (
	// HeaderLen is the length in bytes of the header before every payload.
	HeaderLen = 9
	// MinMaxFrameSize is the payload size every peer accepts: the default
	// of SETTINGS_MAX_FRAME_SIZE and the least it may be set to.
	MinMaxFrameSize = 16384
	// MaxMaxFrameSize is the most SETTINGS_MAX_FRAME_SIZE may be set to.
	MaxMaxFrameSize = 1<<24 - 1
	// ClientPreface is what a client sends before its first frame, section 3.4.
	ClientPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

	// streamIDMask drops the reserved bit, to be ignored on receipt.
	streamIDMask = 1<<31 - 1
)

// Header is the frame header, RFC 9113 section 4.1.
type Header struct {
	Length   uint32 // of the payload in bytes; 24 bits on the wire
	Type     Type
	Flags    Flags
	StreamID uint32 // 31 bits; 0 is the connection
}

// ParseHeader reads the first HeaderLen bytes of b, which must hold as many.
// The reserved bit is dropped. No rule is checked: see [Header.Check].
func ParseHeader(b []byte) Header {
	_ = b[HeaderLen-1]
	return Header{
		Length:   uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]),
		Type:     Type(b[3]),
		Flags:    Flags(b[4]),
		StreamID: parseStreamID(b[5:]),
	}
}

// LooksLikeHTTP1 says whether the bytes of the header begin an answer of HTTP/1.1, from a
// server that does not speak HTTP/2.
func (h Header) LooksLikeHTTP1() bool {
	return string(AppendHeader(make([]byte, 0, HeaderLen), h)) == "HTTP/1.1 "
}

// AppendHeader appends h. Length and StreamID must fit their 24 and 31 bits.
func AppendHeader(dst []byte, h Header) []byte {
	dst = append(dst, byte(h.Length>>16), byte(h.Length>>8), byte(h.Length), byte(h.Type), byte(h.Flags))
	return binary.BigEndian.AppendUint32(dst, h.StreamID&streamIDMask)
}

// sizeError classifies a frame of a wrong size. RFC 9113 section 4.2: "A frame
// size error in a frame that could alter the state of the entire connection MUST
// be treated as a connection error"; that is a frame with a part of a field
// block, SETTINGS, or anything on stream 0.
func (h Header) sizeError(reason string) error {
	if h.StreamID == 0 || h.Type == Settings || h.Type.carriesFieldBlock() {
		return ConnError(FrameSizeError, h.Type.String()+": "+reason)
	}
	return StreamError(h.StreamID, FrameSizeError, h.Type.String()+": "+reason)
}

// needStream refuses stream 0 for a type that belongs on a stream.
func (h Header) needStream() error {
	if h.StreamID == 0 {
		return ConnError(ProtocolError, h.Type.String()+" on stream 0")
	}
	return nil
}

// needConn refuses any stream but 0 for a type that belongs to the connection.
func (h Header) needConn() error {
	if h.StreamID != 0 {
		return ConnError(ProtocolError, h.Type.String()+" on a stream other than 0")
	}
	return nil
}

// of returns h with the length of the payload at hand. The Parse functions check
// that one, so that a payload which is not what the header says cannot be
// indexed out of range.
func (h Header) of(p []byte) Header {
	h.Length = uint32(len(p))
	return h
}

func parseStreamID(b []byte) uint32 { return binary.BigEndian.Uint32(b) & streamIDMask }
