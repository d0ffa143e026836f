// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2/hpack"
)

// fieldKind names the header fields that the transport looks at.
type fieldKind = uint8

const (
	kindOther fieldKind = iota
	kindMethod
	kindScheme
	kindPath
	kindAuthority
	kindStatus
	kindUnknownPseudo
	kindHost
	kindTE
	kindConnection // fields that are about an HTTP/1 connection
	kindContentType
	kindContentLength
	kindUserAgent
	kindTimeout
	kindEncoding
	kindAcceptEncoding
	kindGRPCStatus
	kindGRPCMessage
	kindStatusDetails
	kindMessageType
	kindBinary    // any other with the suffix "-bin"
	kindMalformed // a name that HTTP/2 does not allow
)

var kinds = hpack.NewKinds(kindOf, badValue)

func kindOf(name []byte) fieldKind {
	switch string(name) {
	case grpcwire.HeaderMethod:
		return kindMethod
	case grpcwire.HeaderScheme:
		return kindScheme
	case grpcwire.HeaderPath:
		return kindPath
	case grpcwire.HeaderAuthority:
		return kindAuthority
	case grpcwire.HeaderStatus:
		return kindStatus
	case "host":
		return kindHost
	case grpcwire.HeaderTE:
		return kindTE
	case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
		return kindConnection
	case grpcwire.HeaderContentType:
		return kindContentType
	case "content-length":
		return kindContentLength
	case grpcwire.HeaderUserAgent:
		return kindUserAgent
	case grpcwire.HeaderTimeout:
		return kindTimeout
	case grpcwire.HeaderEncoding:
		return kindEncoding
	case grpcwire.HeaderAcceptEncoding:
		return kindAcceptEncoding
	case grpcwire.HeaderGRPCStatus:
		return kindGRPCStatus
	case grpcwire.HeaderGRPCMessage:
		return kindGRPCMessage
	case grpcwire.HeaderStatusDetails:
		return kindStatusDetails
	case grpcwire.HeaderMessageType:
		return kindMessageType
	}
	return kindOfUnnamed(name)
}

func kindOfUnnamed(name []byte) fieldKind {
	if len(name) == 0 {
		return kindMalformed
	}
	if name[0] == ':' {
		return kindUnknownPseudo
	}
	for _, b := range name {
		// RFC 9113 section 8.2.1: "A field name MUST NOT contain characters in
		// the ranges 0x00-0x20, 0x41-0x5a, or 0x7f-0xff", nor a colon.
		if b <= ' ' || b >= 0x7f || b == ':' || 'A' <= b && b <= 'Z' {
			return kindMalformed
		}
	}
	if grpcwire.IsBinary(unsafeString(name)) {
		return kindBinary
	}
	return kindOther
}

func isPseudo(k fieldKind) bool { return k >= kindMethod && k <= kindUnknownPseudo }

// isVisible reports whether an application sees a field, as grpcwire.IsHidden decides by the name. It sees
// "host" in a reply; in a request that takes the place of a missing :authority.
func isVisible(k fieldKind, reply bool) bool {
	switch k {
	case kindHost:
		return reply
	case kindOther, kindBinary, kindAuthority, kindContentType, kindContentLength, kindUserAgent,
		kindAcceptEncoding, kindStatusDetails:
		return true
	}
	return false
}

// isBinary reports whether the values of a field are base64.
func isBinary(k fieldKind) bool { return k == kindBinary || k == kindStatusDetails }

// isFree reports whether the values of a field may have white space at either end: see section 8.2.1 in the
// package comment.
func isFree(kind fieldKind) bool {
	switch kind {
	case kindOther, kindBinary, kindMessageType, kindUserAgent, kindGRPCMessage, kindStatusDetails,
		kindContentType, kindTimeout, kindEncoding, kindAcceptEncoding: // their parsers decide
		return true
	}
	return false
}

// badValue reports whether v can't be the value of any field: NUL, CR and LF by RFC 9113
// section 8.2.1, and the other control characters but the tab by RFC 9110 section 5.5.
func badValue(v []byte) bool {
	for _, b := range v {
		if b < ' ' && b != '\t' || b == 0x7f {
			return true
		}
	}
	return false
}
