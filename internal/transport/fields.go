// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"fmt"
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
	kindContentLength
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

// padded reports white space at either end of a value.
func padded(v []byte) bool {
	if len(v) == 0 {
		return false
	}
	first, last := v[0], v[len(v)-1]
	return first == ' ' || first == '\t' || last == ' ' || last == '\t'
}

// isFree tells the fields that the applications fill, whose values may be padded: see the
// package comment.
func isFree(kind fieldKind) bool {
	switch kind {
	case kindOther, kindUserAgent, kindGRPCMessage, kindStatusDetails,
		kindContentType, kindTimeout, kindEncoding, kindAcceptEncoding: // or that are parsed with care
		return true
	}
	return false
}

// fields is the part of a field block that applications see, in one string: a
// hundred bytes and a slice instead of a map. Values of "-bin" fields are decoded. It is
// immutable.
type fields struct {
	list []field
}

type field struct{ name, value string }

// keepFields copies what an application may see of b. The error names a "-bin" field that
// can't be decoded.
func keepFields(b *h2.HeaderBlock) (f fields, err error) {
	n, size := 0, 0
	for i := range b.Len() {
		if visible(b, i) {
			n++
			size += len(b.Name(i)) + len(b.Value(i))
		}
	}
	if n == 0 {
		return fields{}, nil
	}
	f.list = make([]field, 0, n)
	text := make([]byte, 0, size)
	// since is what text has from at on.
	since := func(at int) string { return unsafeString(text[at:]) }
	for i := range b.Len() {
		if !visible(b, i) {
			continue
		}
		text = append(text, b.Name(i)...)
		name := since(len(text) - len(b.Name(i)))
		if !grpcwire.IsBinary(name) {
			text = append(text, b.Value(i)...)
			f.list = append(f.list, field{name, since(len(text) - len(b.Value(i)))})
			continue
		}
		for v := range grpcwire.BinaryValues(b.Value(i)) {
			at := len(text)
			var bad error
			if text, bad = grpcwire.AppendDecodedBinary(text, v); bad == nil {
				f.list = append(f.list, field{name, since(at)})
			} else if b.Kind(i) != kindStatusDetails { // without them a status stands all the same
				err = fmt.Errorf("malformed binary metadata %q", name)
			}
		}
	}
	return f, err
}

// memory is how many bytes of it f takes.
func (f fields) memory() int {
	n := cap(f.list) * int(unsafe.Sizeof(field{}))
	for i := range f.list {
		n += len(f.list[i].name) + len(f.list[i].value)
	}
	return n
}

func visible(b *h2.HeaderBlock, i int) bool {
	switch b.Kind(i) {
	case kindOther, kindAuthority, kindContentType, kindContentLength, kindUserAgent, kindAcceptEncoding, kindStatusDetails:
		return !grpcwire.IsHidden(unsafeString(b.Name(i)))
	}
	return false
}

// unsafeString is p as a string, for as long as p does not change.
func unsafeString(p []byte) string { return unsafe.String(unsafe.SliceData(p), len(p)) }

// md returns the fields as a map that belongs to the caller.
func (f fields) md() metadata.MD {
	md := make(metadata.MD, len(f.list))
	for _, x := range f.list {
		md[x.name] = append(md[x.name], x.value)
	}
	return md
}

// values returns the values of one name, in lower case.
func (f fields) values(name string) []string {
	var vs []string
	for _, x := range f.list {
		if x.name == name {
			vs = append(vs, x.value)
		}
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
