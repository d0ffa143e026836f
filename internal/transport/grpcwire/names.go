// SPDX-License-Identifier: Apache-2.0

package grpcwire

// Names of the header fields that PROTOCOL-HTTP2 gives a meaning to, in the lower case
// that HTTP/2 asks for.
const (
	HeaderMethod    = ":method"
	HeaderScheme    = ":scheme"
	HeaderPath      = ":path"
	HeaderAuthority = ":authority"
	HeaderStatus    = ":status"

	HeaderTE             = "te"
	HeaderContentType    = "content-type"
	HeaderUserAgent      = "user-agent"
	HeaderTimeout        = "grpc-timeout"
	HeaderEncoding       = "grpc-encoding"
	HeaderAcceptEncoding = "grpc-accept-encoding"
	HeaderMessageType    = "grpc-message-type"

	HeaderGRPCStatus    = "grpc-status"
	HeaderGRPCMessage   = "grpc-message"
	HeaderStatusDetails = "grpc-status-details-bin"

	// HeaderPreviousAttempts and HeaderRetryPushback belong to retries (gRFC A6). They
	// travel as ordinary metadata, so applications can read and set them.
	HeaderPreviousAttempts = "grpc-previous-rpc-attempts"
	HeaderRetryPushback    = "grpc-retry-pushback-ms"
)

// Values that every call carries.
const (
	MethodPost       = "POST"
	TETrailers       = "trailers"
	EncodingIdentity = "identity"
)

// IsReserved reports whether name belongs to the transport, so that an application's
// metadata must not set it. Such entries are left out of what is sent, without an
// error: an application may well echo the metadata it was given, and that contains
// some of them.
//
// Reserved are the fields of the call definition and of the status, and the connection-specific fields,
// which would make the message malformed (RFC 9113 section 8.2.2). Not reserved are grpc-accept-encoding,
// of which there may be several, and grpc-status-details-bin: a server may put a message of its own there,
// which is sent unless the status has details (see [StatusFields]).
func IsReserved(name string) bool {
	if len(name) > 0 && name[0] == ':' {
		return true
	}
	switch name {
	case HeaderTE, HeaderContentType, HeaderUserAgent:
		return true
	case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
		return true
	case "content-length", "host":
		// Programs pass on the fields of an HTTP request; these two would contradict ours.
		return true
	}
	return isCallField(name)
}

// IsReservedReply is IsReserved for what a server sends: there "host" is a name like any other.
func IsReservedReply(name string) bool { return name != "host" && IsReserved(name) }

// IsHidden reports whether a received field stays out of the metadata an application
// sees, on either side. Visible are ":authority", "content-type", "user-agent",
// "grpc-accept-encoding", "grpc-status-details-bin" and everything that the transport
// gives no meaning to.
func IsHidden(name string) bool {
	if len(name) > 0 && name[0] == ':' {
		return name != HeaderAuthority
	}
	return name == HeaderTE || isCallField(name)
}

// isCallField reports whether name is one of the "grpc-" fields that only the
// transport reads and writes.
func isCallField(name string) bool {
	if len(name) < len("grpc-") || name[:len("grpc-")] != "grpc-" {
		return false
	}
	switch name {
	case HeaderTimeout, HeaderEncoding, HeaderMessageType, HeaderGRPCStatus, HeaderGRPCMessage:
		return true
	}
	return false
}
