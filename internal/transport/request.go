// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"strconv"
	"time"
	"unsafe"

	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/frame"
)

// request is a field block with which a client opens a stream, parsed. It is
// immutable, so that calls with the same block share it.
type request struct {
	method         string // the :path
	subtype        string // of the content type
	encoding       string
	acceptEncoding string
	timeout        time.Duration
	hasTimeout     bool
	fields         fields
	length         int64 // content-length, -1 without
	size           int
	refusal        *refusal // why the call is answered without a handler; nil: it is not
	held           h2.Shared
}

// requestParser is what is only of interest while a block is read.
type requestParser struct {
	*request
	httpMethod  []byte
	host        []byte
	authority   []byte
	scheme      []byte
	contentType []byte
	regular     bool // a regular field was seen
	badTimeout  error
	badFields   error
}

// parseRequest reads b. An error means that the request is malformed in the
// sense of RFC 9113 section 8.1.1, which resets the stream.
func parseRequest(b *h2.HeaderBlock, laxPath bool) (*request, error) {
	if r, ok := b.Memo().(*request); ok {
		return r, nil
	}
	p := requestParser{request: &request{size: b.Size(), length: -1}}
	for i := range b.Len() {
		if err := p.field(b, i); err != nil {
			return nil, err
		}
	}
	if b.TooLarge() {
		return p.tooLarge(b), nil
	}
	if p.httpMethod == nil || p.method == "" || p.scheme == nil {
		return nil, malformed("a mandatory pseudo-header is missing")
	}
	p.fields, p.badFields = keepFields(b)
	if p.authority == nil && p.host != nil {
		p.fields = p.fields.with(grpcwire.HeaderAuthority, string(p.host))
	}
	p.refusal = p.refuse(laxPath)
	p.held = h2.NewShared(p.memory(), p.fields.entries)
	b.SetMemo(p.request, &p.held)
	return p.request, nil
}

// memory is how many bytes of it r takes.
func (r *request) memory() int {
	return int(unsafe.Sizeof(*r)) + len(r.method) + len(r.subtype) + len(r.encoding) +
		len(r.acceptEncoding) + r.fields.memory()
}

func malformed(reason string) error {
	return frame.Error{Code: frame.ProtocolError, Reason: reason}
}

func (p *requestParser) field(b *h2.HeaderBlock, i int) error {
	v := b.Value(i)
	kind := b.Kind(i)
	if isBad(b, i) || padded(v) && !isFree(kind) {
		return malformed("malformed value of header field " + strconv.Quote(string(b.Name(i))))
	}
	if isPseudo(kind) && p.regular {
		return malformed("a pseudo-header follows a regular field")
	}
	p.regular = p.regular || !isPseudo(kind)
	switch kind {
	case kindMethod:
		return once(&p.httpMethod, v, "a second :method")
	case kindScheme:
		return once(&p.scheme, v, "a second :scheme")
	case kindPath:
		if p.method != "" || len(v) == 0 {
			return malformed("an empty or a second :path")
		}
		p.method = value(b, i)
	case kindAuthority:
		return once(&p.authority, v, "a second :authority")
	case kindStatus, kindUnknownPseudo, kindMalformed, kindConnection:
		return malformed("header field " + strconv.Quote(string(b.Name(i))) + " in a request")
	case kindTE:
		if !bytes.EqualFold(v, []byte(grpcwire.TETrailers)) {
			return malformed("te is not \"trailers\"")
		}
	case kindHost:
		return once(&p.host, v, "a second host")
	case kindContentLength:
		return parseLength(&p.length, v)
	case kindContentType:
		p.contentType = v
	case kindEncoding:
		p.encoding = value(b, i)
	case kindAcceptEncoding:
		switch {
		case p.acceptEncoding == "":
			p.acceptEncoding = value(b, i)
		case len(p.acceptEncoding)+len(v) < maxAcceptEncoding:
			p.acceptEncoding += "," + string(v)
		}
	case kindTimeout:
		p.hasTimeout = true
		p.timeout, p.badTimeout = grpcwire.ParseTimeout(v)
	}
	return nil
}

// maxAcceptEncoding bounds what several fields of a request say together.
const maxAcceptEncoding = 1 << 10

func once(dst *[]byte, v []byte, fault string) error {
	if *dst != nil {
		return malformed(fault)
	}
	*dst = v[:len(v):len(v)]
	if v == nil {
		*dst = []byte{}
	}
	return nil
}

// parseLength reads a content-length. A second one must be the same (RFC 9110 section 8.6).
func parseLength(dst *int64, v []byte) error {
	n, err := strconv.ParseUint(string(v), 10, 63)
	if err != nil || *dst >= 0 && *dst != int64(n) {
		return malformed("malformed content-length")
	}
	*dst = int64(n)
	return nil
}
