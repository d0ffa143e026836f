// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// rstCodes is the table under "Errors" in PROTOCOL-HTTP2, by HTTP/2 error code (RFC 9113
// section 7). STREAM_CLOSED has no mapping there, as no open stream should get it, and
// HTTP_1_1_REQUIRED no row; both are faults of the transport.
var rstCodes = [...]struct {
	name string
	code codes.Code
}{
	0x0: {"NO_ERROR", codes.Internal},
	0x1: {"PROTOCOL_ERROR", codes.Internal},
	0x2: {"INTERNAL_ERROR", codes.Internal},
	0x3: {"FLOW_CONTROL_ERROR", codes.ResourceExhausted},
	0x4: {"SETTINGS_TIMEOUT", codes.Internal},
	0x5: {"STREAM_CLOSED", codes.Internal},
	0x6: {"FRAME_SIZE_ERROR", codes.Internal},
	0x7: {"REFUSED_STREAM", codes.Unavailable},
	0x8: {"CANCEL", codes.Canceled},
	0x9: {"COMPRESSION_ERROR", codes.Internal},
	0xa: {"CONNECT_ERROR", codes.Internal},
	0xb: {"ENHANCE_YOUR_CALM", codes.ResourceExhausted},
	0xc: {"INADEQUATE_SECURITY", codes.PermissionDenied},
	0xd: {"HTTP_1_1_REQUIRED", codes.Internal},
}

// RSTCode maps the error code of a received RST_STREAM, as the published module does. One
// that RFC 9113 does not define is Unknown. A client whose deadline has passed when CANCEL
// arrives should report DeadlineExceeded of its own instead.
func RSTCode(code uint32) codes.Code {
	if uint64(code) < uint64(len(rstCodes)) {
		return rstCodes[code].code
	}
	return codes.Unknown
}

// RSTMessage is the status message that goes with [RSTCode]; it names the error code.
func RSTMessage(code uint32) string {
	const intro = "stream terminated by RST_STREAM with error code: "
	if uint64(code) < uint64(len(rstCodes)) {
		return intro + rstCodes[code].name
	}
	return intro + "unknown error code 0x" + strconv.FormatUint(uint64(code), 16)
}

// RSTStatus is the status of an RPC that the peer ended with RST_STREAM.
func RSTStatus(code uint32) *status.Status {
	return status.New(RSTCode(code), RSTMessage(code))
}
