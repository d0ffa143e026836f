// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
	"maps"
	"strings"
	"sync/atomic"
)

// Content types that need no lookup.
const (
	ContentTypeGRPC  = "application/grpc"
	ContentTypeProto = "application/grpc+proto"
	ContentTypeJSON  = "application/grpc+json"
)

// ParseContentType reports whether v is a gRPC content type, and returns the subtype that names the codec,
// in lower case: "proto" for application/grpc+proto and application/grpc;proto, empty for application/grpc.
// Media types compare without case, and a parameter such as "; charset=utf-8" is not a subtype.
func ParseContentType[T Text](v T) (subtype string, ok bool) {
	v = trimSpace(v)
	if len(v) < len(ContentTypeGRPC) || !equalFold(v[:len(ContentTypeGRPC)], ContentTypeGRPC) {
		return "", false
	}
	v = v[len(ContentTypeGRPC):]
	if len(v) == 0 {
		return "", true
	}
	switch v[0] {
	case '+':
		return internSubtype(trimSpace(upTo(v[1:], ';'))), true
	case ';':
		piece := trimSpace(upTo(v[1:], ';'))
		if len(upTo(piece, '=')) < len(piece) {
			return "", true
		}
		return internSubtype(piece), true
	case ' ', '\t':
		v = trimSpace(v)
		return "", v[0] == ';'
	}
	return "", false
}

// ContentType returns the content-type value for a codec's subtype, which is folded to
// lower case; the empty subtype is plain application/grpc. Values are remembered, so the
// usual call does not allocate.
func ContentType(subtype string) string {
	switch subtype {
	case "":
		return ContentTypeGRPC
	case "proto":
		return ContentTypeProto
	case "json":
		return ContentTypeJSON
	}
	known := contentTypes.Load()
	if known != nil {
		if v, ok := (*known)[subtype]; ok {
			return v
		}
	}
	v := ContentTypeGRPC + "+" + strings.ToLower(subtype)
	if len(subtype) <= maxSubtype {
		rememberContentType(known, subtype, v)
	}
	return v
}

// contentTypes is replaced, never written in place. It is bounded, as are the subtypes in it,
// because a server answers with the subtype its peer chose.
var contentTypes atomic.Pointer[map[string]string]

const (
	maxContentTypes = 32
	maxSubtype      = 64
)

func rememberContentType(known *map[string]string, subtype, v string) {
	grown := map[string]string{}
	if known != nil {
		if len(*known) >= maxContentTypes {
			return
		}
		grown = maps.Clone(*known)
	}
	grown[strings.Clone(subtype)] = v
	contentTypes.CompareAndSwap(known, &grown) // lost to another: the next call tries again
}

// internSubtype returns v in lower case, without an allocation for the usual ones.
func internSubtype[T Text](v T) string {
	switch {
	case equalFold(v, "proto"):
		return "proto"
	case equalFold(v, "json"):
		return "json"
	}
	return strings.ToLower(string(v))
}

// equalFold compares v with lower, which is lower-case ASCII.
func equalFold[T Text](v T, lower string) bool {
	if len(v) != len(lower) {
		return false
	}
	for i := range len(v) {
		c := v[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// upTo returns the part of v before the first sep, or all of it.
func upTo[T Text](v T, sep byte) T {
	for i := range len(v) {
		if v[i] == sep {
			return v[:i]
		}
	}
	return v
}
