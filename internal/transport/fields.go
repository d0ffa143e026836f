// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"strings"
	"unsafe"

	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/hpack"
	"google.golang.org/grpc/metadata"
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
	kindUserAgent
	kindTimeout
	kindEncoding
	kindAcceptEncoding
	kindGRPCStatus
	kindGRPCMessage
	kindStatusDetails
	kindMalformed // a name that HTTP/2 does not allow
)

var kinds = hpack.NewKinds(kindOf)

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
	return kindOther
}

func isPseudo(k fieldKind) bool { return k >= kindMethod && k <= kindUnknownPseudo }

// badValue reports whether v can't be the value of any field, RFC 9113 section
// 8.2.1: NUL, CR, LF, or white space at either end.
func badValue(v []byte) bool {
	for _, b := range v {
		if b == 0 || b == '\r' || b == '\n' {
			return true
		}
	}
	return false
}

// fields is the part of a field block that applications see, in one string: a
// hundred bytes and a slice instead of a map. It is immutable.
type fields struct {
	list []field
}

type field struct{ name, value string }

// keepFields copies what an application may see of b.
func keepFields(b *h2.HeaderBlock) fields {
	n, size := 0, 0
	for i := range b.Len() {
		if visible(b, i) {
			n++
			size += len(b.Name(i)) + len(b.Value(i))
		}
	}
	if n == 0 {
		return fields{}
	}
	text := make([]byte, 0, size)
	keep := func(p []byte) string {
		if len(p) == 0 {
			return ""
		}
		at := len(text)
		text = append(text, p...)
		return unsafe.String(&text[at], len(p))
	}
	f := fields{list: make([]field, 0, n)}
	for i := range b.Len() {
		if visible(b, i) {
			f.list = append(f.list, field{keep(b.Name(i)), keep(b.Value(i))})
		}
	}
	return f
}

func visible(b *h2.HeaderBlock, i int) bool {
	switch b.Kind(i) {
	case kindOther, kindAuthority, kindContentType, kindUserAgent, kindAcceptEncoding, kindStatusDetails:
		return !grpcwire.IsHidden(unsafeString(b.Name(i)))
	}
	return false
}

// unsafeString is p as a string for the length of a call.
func unsafeString(p []byte) string { return unsafe.String(unsafe.SliceData(p), len(p)) }

// md returns the fields as a map that belongs to the caller. Values of "-bin"
// fields are decoded; one that can't be is left out.
func (f fields) md() metadata.MD {
	md := make(metadata.MD, len(f.list))
	for _, x := range f.list {
		md[x.name] = x.appendValue(md[x.name])
	}
	return md
}

// values returns the values of one name, in lower case.
func (f fields) values(name string) []string {
	var vs []string
	for _, x := range f.list {
		if x.name == name {
			vs = x.appendValue(vs)
		}
	}
	return vs
}

func (x field) appendValue(vs []string) []string {
	if !strings.HasSuffix(x.name, grpcwire.BinarySuffix) {
		return append(vs, x.value)
	}
	if more, err := grpcwire.AppendBinaryValues(vs, x.value); err == nil {
		return more
	}
	return vs
}

// writeMD writes an application's metadata, which CheckPair has passed.
func writeMD(w *h2.FieldWriter, md metadata.MD) {
	for k, vs := range md {
		for _, v := range vs {
			writePair(w, k, v)
		}
	}
}

func writePair(w *h2.FieldWriter, k, v string) {
	if grpcwire.IsReserved(k) {
		return
	}
	if grpcwire.IsBinary(k) {
		w.Once(k, string(grpcwire.AppendBinary(nil, v)))
		return
	}
	w.Custom(k, v)
}
