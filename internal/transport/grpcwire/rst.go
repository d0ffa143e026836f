// SPDX-License-Identifier: Apache-2.0

package grpcwire

import "google.golang.org/grpc/codes"

// rstCodes is the table under "Errors" in PROTOCOL-HTTP2, by HTTP/2 error code (RFC 9113 section 7). The
// table has no mapping for STREAM_CLOSED, as no open stream should get it, and no row for
// HTTP_1_1_REQUIRED; both are faults of the transport.
var rstCodes = [...]codes.Code{
	0x0: codes.Internal,          // NO_ERROR
	0x1: codes.Internal,          // PROTOCOL_ERROR
	0x2: codes.Internal,          // INTERNAL_ERROR
	0x3: codes.ResourceExhausted, // FLOW_CONTROL_ERROR
	0x4: codes.Internal,          // SETTINGS_TIMEOUT
	0x5: codes.Internal,          // STREAM_CLOSED
	0x6: codes.Internal,          // FRAME_SIZE_ERROR
	0x7: codes.Unavailable,       // REFUSED_STREAM
	0x8: codes.Canceled,          // CANCEL
	0x9: codes.Internal,          // COMPRESSION_ERROR
	0xa: codes.Internal,          // CONNECT_ERROR
	0xb: codes.ResourceExhausted, // ENHANCE_YOUR_CALM
	0xc: codes.PermissionDenied,  // INADEQUATE_SECURITY
	0xd: codes.Internal,          // HTTP_1_1_REQUIRED
}

// RSTCode maps the error code of a received RST_STREAM, as the published module does. A code that RFC 9113
// does not define is Unknown. A client whose deadline has passed when CANCEL arrives should report
// DeadlineExceeded instead.
func RSTCode(code uint32) codes.Code {
	if uint64(code) < uint64(len(rstCodes)) {
		return rstCodes[code]
	}
	return codes.Unknown
}
