// SPDX-License-Identifier: Apache-2.0

// Package wire writes HTTP/2 as an attacker needs it: any frame, whether it is allowed or
// not, and header blocks whose every byte is chosen.
package wire

import "encoding/binary"

// Preface is what a client sends first (RFC 9113, 3.4).
const Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// HeaderLen is the length of a frame's header.
const HeaderLen = 9

// The types of frames (RFC 9113, 6).
const (
	Data           byte = 0x0
	Headers        byte = 0x1
	Priority       byte = 0x2
	RSTStream      byte = 0x3
	Settings       byte = 0x4
	PushPromise    byte = 0x5
	Ping           byte = 0x6
	GoAway         byte = 0x7
	WindowUpdate   byte = 0x8
	Continuation   byte = 0x9
	AltSvc         byte = 0xa  // RFC 7838, 4
	Origin         byte = 0xc  // RFC 8336, 2
	PriorityUpdate byte = 0x10 // RFC 9218, 7.1
)

// Flags of frames.
const (
	EndStream   byte = 0x1
	Ack         byte = 0x1
	EndHeaders  byte = 0x4
	Padded      byte = 0x8
	Prioritized byte = 0x20
)

// Identifiers of settings (RFC 9113, 6.5.2).
const (
	HeaderTableSize      uint16 = 0x1
	EnablePush           uint16 = 0x2
	MaxConcurrentStreams uint16 = 0x3
	InitialWindowSize    uint16 = 0x4
	MaxFrameSize         uint16 = 0x5
	MaxHeaderListSize    uint16 = 0x6
)

// Error codes (RFC 9113, 7).
const (
	NoError       uint32 = 0x0
	RefusedStream uint32 = 0x7
	Cancel        uint32 = 0x8
	Calm          uint32 = 0xb
)

// Frame is a frame that was read; Payload is good until the next is.
type Frame struct {
	Type, Flags byte
	Stream      uint32
	Payload     []byte
}

// Is tells of a type with all those flags.
func (f Frame) Is(typ, flags byte) bool { return f.Type == typ && f.Flags&flags == flags }

// AppendFrame appends a whole frame.
func AppendFrame(b []byte, f Frame) []byte {
	return append(AppendHeader(b, len(f.Payload), f), f.Payload...)
}

// AppendHeader appends a frame's header that declares a length, which may be a lie.
func AppendHeader(b []byte, length int, f Frame) []byte {
	b = append(b, byte(length>>16), byte(length>>8), byte(length), f.Type, f.Flags)
	return binary.BigEndian.AppendUint32(b, f.Stream)
}

// Setting is one setting of a SETTINGS frame.
type Setting struct {
	ID    uint16
	Value uint32
}

// AppendSettings appends the payload of a SETTINGS frame.
func AppendSettings(b []byte, settings ...Setting) []byte {
	for _, s := range settings {
		b = binary.BigEndian.AppendUint16(b, s.ID)
		b = binary.BigEndian.AppendUint32(b, s.Value)
	}
	return b
}

// Uint32 is a payload of four bytes: of RST_STREAM and WINDOW_UPDATE.
func Uint32(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }

// AppendMessage appends a message as gRPC frames it: a flag, a length, and the message.
func AppendMessage(b []byte, compressed byte, message []byte) []byte {
	return append(AppendPrefix(b, compressed, uint32(len(message))), message...)
}

// AppendPrefix appends what stands before a message, with a length that may be a lie.
func AppendPrefix(b []byte, compressed byte, length uint32) []byte {
	return binary.BigEndian.AppendUint32(append(b, compressed), length)
}
