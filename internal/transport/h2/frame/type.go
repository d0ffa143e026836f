// SPDX-License-Identifier: Apache-2.0

package frame

// Type is a frame type, RFC 9113 section 6.
type Type uint8

// The frame types this package reads and writes.
const (
	Data         Type = 0x0
	Headers      Type = 0x1
	Priority     Type = 0x2
	RSTStream    Type = 0x3
	Settings     Type = 0x4
	PushPromise  Type = 0x5
	Ping         Type = 0x6
	GoAway       Type = 0x7
	WindowUpdate Type = 0x8
	Continuation Type = 0x9
)

var typeNames = [...]string{
	Data:         "DATA",
	Headers:      "HEADERS",
	Priority:     "PRIORITY",
	RSTStream:    "RST_STREAM",
	Settings:     "SETTINGS",
	PushPromise:  "PUSH_PROMISE",
	Ping:         "PING",
	GoAway:       "GOAWAY",
	WindowUpdate: "WINDOW_UPDATE",
	Continuation: "CONTINUATION",
}

// String returns the name the RFC uses, or the number of an unknown type.
func (t Type) String() string {
	if t.IsKnown() {
		return typeNames[t]
	}
	return "frame type " + hex(uint32(t))
}

// IsKnown reports whether t is a type that this package reads. Frames of other types are to be ignored,
// section 4.1.
func (t Type) IsKnown() bool { return t <= Continuation }

// carriesFieldBlock reports whether a frame of this type has a part of a field block, and so changes
// the connection's HPACK state.
func (t Type) carriesFieldBlock() bool {
	return t == Headers || t == PushPromise || t == Continuation
}

// Flags are the flags of a frame. The meaning of a bit depends on the frame's type. Bits without a
// meaning for a type are ignored on receipt (section 4.1).
type Flags uint8

// The flags of RFC 9113 section 6.
const (
	FlagEndStream  Flags = 0x1  // DATA, HEADERS
	FlagAck        Flags = 0x1  // SETTINGS, PING
	FlagEndHeaders Flags = 0x4  // HEADERS, PUSH_PROMISE, CONTINUATION
	FlagPadded     Flags = 0x8  // DATA, HEADERS, PUSH_PROMISE
	FlagPriority   Flags = 0x20 // HEADERS
)

// Has reports whether every bit of want is set.
func (f Flags) Has(want Flags) bool { return f&want == want }

// when returns the flag if on is true, and no flag otherwise.
func (f Flags) when(on bool) Flags {
	if on {
		return f
	}
	return 0
}
