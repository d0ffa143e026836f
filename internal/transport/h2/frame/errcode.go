// SPDX-License-Identifier: Apache-2.0

package frame

import "strconv"

// ErrCode is the reason in RST_STREAM and GOAWAY, RFC 9113 section 7. A code without a name here is
// legal on receipt, and has no special meaning.
type ErrCode uint32

// The codes of RFC 9113 section 7.
const (
	NoError            ErrCode = 0x0
	ProtocolError      ErrCode = 0x1
	InternalError      ErrCode = 0x2
	FlowControlError   ErrCode = 0x3
	SettingsTimeout    ErrCode = 0x4
	StreamClosed       ErrCode = 0x5
	FrameSizeError     ErrCode = 0x6
	RefusedStream      ErrCode = 0x7
	Cancel             ErrCode = 0x8
	CompressionError   ErrCode = 0x9
	ConnectError       ErrCode = 0xa
	EnhanceYourCalm    ErrCode = 0xb
	InadequateSecurity ErrCode = 0xc
	HTTP11Required     ErrCode = 0xd
)

var errCodeNames = [...]string{
	NoError:            "NO_ERROR",
	ProtocolError:      "PROTOCOL_ERROR",
	InternalError:      "INTERNAL_ERROR",
	FlowControlError:   "FLOW_CONTROL_ERROR",
	SettingsTimeout:    "SETTINGS_TIMEOUT",
	StreamClosed:       "STREAM_CLOSED",
	FrameSizeError:     "FRAME_SIZE_ERROR",
	RefusedStream:      "REFUSED_STREAM",
	Cancel:             "CANCEL",
	CompressionError:   "COMPRESSION_ERROR",
	ConnectError:       "CONNECT_ERROR",
	EnhanceYourCalm:    "ENHANCE_YOUR_CALM",
	InadequateSecurity: "INADEQUATE_SECURITY",
	HTTP11Required:     "HTTP_1_1_REQUIRED",
}

// String returns the name the RFC uses, or the number of an unknown code.
func (c ErrCode) String() string {
	if uint64(c) < uint64(len(errCodeNames)) {
		return errCodeNames[c]
	}
	return "unknown error code " + hex(uint32(c))
}

func hex(v uint32) string { return "0x" + strconv.FormatUint(uint64(v), 16) }
