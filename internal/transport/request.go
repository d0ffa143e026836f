// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"net/http"
	"strconv"
	"time"
	"unsafe"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/status"
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
	authority      string
	fields         fields
	size           int
	refusal        *refusal // why the call is answered without a handler; nil: it is not
	held           h2.Shared
}

// refusal answers a request that is no gRPC call.
type refusal struct {
	httpStatus string
	status     *status.Status
}

// requestParser is what is only of interest while a block is read.
type requestParser struct {
	*request
	httpMethod  []byte
	host        []byte
	scheme      bool
	addressed   bool // :authority is there, be it empty
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
	p := requestParser{request: &request{size: b.Size()}}
	for i := range b.Len() {
		if err := p.field(b, i); err != nil {
			return nil, err
		}
	}
	if p.httpMethod == nil || p.method == "" || !p.scheme {
		return nil, malformed("a mandatory pseudo-header is missing")
	}
	p.fields, p.badFields = keepFields(b)
	if p.authority == "" && p.host != nil {
		// "A server SHOULD treat a request as malformed if it contains a Host
		// header field that identifies an entity that differs from :authority";
		// alone it stands in for it.
		p.authority = string(p.host)
		p.fields.list = append(p.fields.list, field{grpcwire.HeaderAuthority, p.authority})
	}
	p.refusal = p.refuse(laxPath)
	p.held = h2.NewShared(p.memory())
	b.SetMemo(p.request, &p.held)
	return p.request, nil
}

// memory is how many bytes of it r takes.
func (r *request) memory() int {
	return int(unsafe.Sizeof(*r)) + len(r.method) + len(r.authority) + len(r.subtype) + len(r.encoding) +
		len(r.acceptEncoding) + r.fields.memory()
}

func malformed(reason string) error {
	return frame.Error{Code: frame.ProtocolError, Reason: reason}
}

func (p *requestParser) field(b *h2.HeaderBlock, i int) error {
	v := b.Value(i)
	kind := b.Kind(i)
	if badValue(v) {
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
		if p.scheme {
			return malformed("a second :scheme")
		}
		p.scheme = true
	case kindPath:
		if p.method != "" || len(v) == 0 {
			return malformed("an empty or a second :path")
		}
		p.method = string(v)
	case kindAuthority:
		if p.addressed {
			return malformed("a second :authority")
		}
		p.addressed = true
		p.authority = string(v)
	case kindStatus, kindUnknownPseudo, kindMalformed, kindConnection:
		return malformed("header field " + strconv.Quote(string(b.Name(i))) + " in a request")
	case kindTE:
		if string(v) != grpcwire.TETrailers {
			return malformed("te is not \"trailers\"")
		}
	case kindHost:
		if p.host != nil {
			return malformed("a second host")
		}
		p.host = v
	case kindContentType:
		p.contentType = v
	case kindEncoding:
		p.encoding = string(v)
	case kindAcceptEncoding:
		if p.acceptEncoding != "" {
			p.acceptEncoding += ","
		}
		p.acceptEncoding += string(v)
	case kindTimeout:
		p.hasTimeout = true
		p.timeout, p.badTimeout = grpcwire.ParseTimeout(v)
	}
	return nil
}

func once(dst *[]byte, v []byte, fault string) error {
	if *dst != nil {
		return malformed(fault)
	}
	*dst = v
	return nil
}

// refuse says why a well-formed request is no call for a handler.
func (p *requestParser) refuse(laxPath bool) *refusal {
	if string(p.httpMethod) != grpcwire.MethodPost {
		return &refusal{itoa(http.StatusMethodNotAllowed), status.Newf(codes.Internal,
			"malformed request: :method is %q and must be POST", p.httpMethod)}
	}
	if !p.addressed && len(p.host) == 0 {
		// An empty :authority is that of a client which has no name for what it
		// talks to: a connection in memory, a socket that its dialer knows.
		return &refusal{itoa(http.StatusBadRequest), status.New(codes.Internal,
			"malformed request: neither :authority nor host")}
	}
	subtype, ok := grpcwire.ParseContentType(p.contentType)
	if !ok {
		return &refusal{itoa(http.StatusUnsupportedMediaType), status.Newf(codes.InvalidArgument,
			"invalid gRPC request content-type %q", p.contentType)}
	}
	p.subtype = subtype
	if p.badTimeout != nil {
		return &refusal{itoa(http.StatusBadRequest), status.Newf(codes.Internal,
			"malformed grpc-timeout: %v", p.badTimeout)}
	}
	if p.badFields != nil {
		return &refusal{itoa(http.StatusBadRequest), status.Newf(codes.Internal, "malformed request: %v", p.badFields)}
	}
	if _, _, ok := grpcwire.SplitPath(p.method); !ok && (!laxPath || p.method[0] == '/') {
		return &refusal{itoa(http.StatusOK), status.Newf(codes.Unimplemented, "malformed method name: %q", p.method)}
	}
	return nil
}
