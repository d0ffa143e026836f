// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"unsafe"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/hpack"
	"google.golang.org/grpc/status"
)

// request is a parsed field block with which a client opens a stream. The timeout is not part of it: that
// is the block's Note. It is immutable, so that calls can share it if their blocks are the same, or differ
// only in their timeouts.
type request struct {
	method Method // of the :path
	size   uint32 // of the block, as HPACK coded it
	keptBlock
	*oddities
}

// oddities are what few requests have. Like a request they are shared, and never changed.
type oddities struct {
	refusal  *refusal // why the call is answered without a handler; nil: it is not
	subtype  string   // of the content type
	encoding string
	length   int64 // content-length, -1 without
}

// usual are the oddities of most requests.
var usual = oddities{length: -1}

// oddRequest is a request with oddities of its own.
type oddRequest struct {
	request
	own oddities
}

// requestParser is a request, and what is needed only while its block is read.
type requestParser struct {
	request
	odd         oddities
	known       func(path []byte) Method // ServerConfig.Known; laxPath is LaxPath there
	laxPath     bool
	httpMethod  []byte
	host        []byte
	authority   []byte
	scheme      []byte
	contentType []byte
	regular     bool // a regular field was seen
	timeout     grpcwire.Timeout
	badTimeout  error
	badFields   error
}

// parseRequest reads b. An error means that the request is malformed in the
// sense of RFC 9113 section 8.1.1, which resets the stream.
func parseRequest(b *h2.HeaderBlock, cfg *ServerConfig) (_ *request, err error) {
	defer h2.Contain(&err, panicLog{})
	if r, ok := b.Memo().(*request); ok {
		if b.Foreign() {
			r = r.copy()
			b.SetMemo(r, &r.held)
		}
		return r, nil
	}
	p := requestParser{request: request{size: b.CodedLen()}, odd: usual, known: cfg.Known, laxPath: cfg.LaxPath}
	for i := range b.Len() {
		if err := p.field(b, i); err != nil {
			return nil, err
		}
	}
	if b.TooLarge() {
		return p.tooLarge(b), nil
	}
	if p.httpMethod == nil || p.method == nil || p.scheme == nil {
		return nil, malformed("a mandatory pseudo-header is missing")
	}
	var r *request
	if p.isShort(b) {
		r = p.short(b)
	} else {
		f := p.fields(newFieldsBuffer(b, false), b)
		r = p.keep(f.string(), f.refs)
	}
	b.SetMemo(r, &r.held)
	b.SetNote(uint32(p.timeout))
	return r, nil
}

// shortText and shortRefs bound the text and the references of most blocks that differ from others only in
// their timeouts: they refer to the tables for everything else, in a byte for each field.
const (
	shortText = 64
	shortRefs = 16
)

func (p *requestParser) isShort(b *h2.HeaderBlock) bool {
	size, refs := 0, 0
	for i := range b.Len() {
		if isVisible(b.Kind(i), false) {
			size += fieldSize(b, i)
			refs++
		}
	}
	return size <= shortText && refs <= shortRefs
}

// short returns the request of a block whose fields are short. If the block differs from another in its
// timeout alone, the two share the request: a client whose calls have deadlines sends such blocks.
func (p *requestParser) short(b *h2.HeaderBlock) *request {
	var text [shortText]byte
	var refs [shortRefs]*hpack.Field
	f := p.fields(fieldsBuffer{text[:0], refs[:0]}, b)
	if r, ok := b.Alike(func(memo any) bool {
		r, ok := memo.(*request)
		return ok && r.size == p.size && r.text == string(f.text) && slices.Equal(r.held.Refs(), f.refs) &&
			r.method == p.method && *r.oddities == p.odd
	}).(*request); ok {
		return r
	}
	return p.keep(string(f.text), slices.Clone(f.refs))
}

// fields returns f, which is empty, with what the application may see of b, and decides whether b is
// refused.
func (p *requestParser) fields(f fieldsBuffer, b *h2.HeaderBlock) fieldsBuffer {
	f, p.badFields = f.addBlock(b, false)
	if p.authority == nil && p.host != nil {
		f = f.addLiteral(grpcwire.HeaderAuthority, p.host)
	}
	p.odd.refusal = p.refuse()
	return f
}

// keep returns the request without the parser, with what an application may see of its block.
func (p *requestParser) keep(text string, refs []*hpack.Field) *request {
	p.text = text
	r := p.kept()
	r.held = h2.NewShared(r.memory(), refs)
	return r
}

// kept returns the request without the parser, in one allocation.
func (p *requestParser) kept() *request {
	if p.odd == usual {
		r := p.request
		r.oddities = &usual
		return &r
	}
	o := &oddRequest{request: p.request, own: p.odd}
	o.oddities = &o.own
	return &o.request
}

// copy returns a copy of r for another connection.
func (r *request) copy() *request {
	p := requestParser{request: request{method: r.method, size: r.size}, odd: *r.oddities}
	p.keptBlock = r.keptBlock.copy()
	return p.kept()
}

// memory returns how many bytes of memory r takes, without its refs.
func (r *request) memory() int {
	n := int(unsafe.Sizeof(oddRequest{})) + len(r.method.Path()) + len(r.subtype) + len(r.encoding) + len(r.text)
	if r.refusal != nil {
		n += r.refusal.memory()
	}
	return n
}

func (p *requestParser) field(b *h2.HeaderBlock, i int) error {
	v := b.Value(i)
	kind := b.Kind(i)
	if b.Flawed(i) || padded(v) && !isFree(kind) {
		return malformed("malformed value of header field " + strconv.Quote(grpcwire.Quoted(b.Name(i))))
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
		if p.method != nil || len(v) == 0 {
			return malformed("an empty or a second :path")
		}
		if p.known != nil {
			p.method = p.known(v)
		}
		if p.method == nil {
			p.method = unknownMethod(value(b, i))
		}
	case kindAuthority:
		return once(&p.authority, v, "a second :authority")
	case kindStatus, kindUnknownPseudo, kindMalformed, kindConnection:
		return malformed("header field " + strconv.Quote(grpcwire.Quoted(b.Name(i))) + " in a request")
	case kindTE:
		if !bytes.EqualFold(v, []byte(grpcwire.TETrailers)) {
			return malformed("te is not \"trailers\"")
		}
	case kindHost:
		return once(&p.host, v, "a second host")
	case kindContentLength:
		return parseLength(&p.odd.length, v)
	case kindContentType:
		p.contentType = v
	case kindEncoding:
		p.odd.encoding = value(b, i)
	case kindTimeout:
		p.timeout, p.badTimeout = grpcwire.ParseTimeout(v)
	}
	return nil
}

// maxAcceptEncoding bounds the values of several grpc-accept-encoding fields together, in
// bytes.
const maxAcceptEncoding = 1 << 10

// acceptEncoding returns the list of encodings that the client can read. Only calls whose messages are
// compressed ask for it.
func (r *request) acceptEncoding() string {
	var all acceptList
	f := r.fields()
	for k, ok := f.next(); ok; k, ok = f.next() {
		if k.name == grpcwire.HeaderAcceptEncoding {
			all.add(k.value)
		}
	}
	return string(all)
}

// acceptList is the list in the fields of one request.
type acceptList string

// add adds the list in one more field, unless there is too much.
func (l *acceptList) add(list string) {
	switch {
	case *l == "":
		*l = acceptList(list)
	case len(*l)+len(list) < maxAcceptEncoding:
		*l += "," + acceptList(list)
	}
}

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

// refuse returns why a well-formed request is not for a handler; nil if it is. If the published module
// refuses the request too, the status and its text are the same.
func (p *requestParser) refuse() *refusal {
	subtype, ok := grpcwire.ParseContentType(p.contentType)
	if !ok {
		r := p.unlikeGRPC(http.StatusUnsupportedMediaType, status.Newf(codes.InvalidArgument,
			"invalid gRPC request content-type %q", grpcwire.Quoted(p.contentType)))
		r.foreign = true
		return r
	}
	p.odd.subtype = subtype
	switch {
	case string(p.httpMethod) != grpcwire.MethodPost:
		return p.unlikeGRPC(http.StatusMethodNotAllowed, status.Newf(codes.Internal,
			"Received a HEADERS frame with :method %q which should be POST", grpcwire.Quoted(p.httpMethod)))
	case p.authority == nil && p.host == nil:
		return refused(http.StatusBadRequest, status.New(codes.Internal, "no host or :authority header present"))
	case p.badTimeout != nil:
		return refused(http.StatusBadRequest, status.Newf(codes.Internal, "malformed grpc-timeout: %v", p.badTimeout))
	case p.badFields != nil:
		text := p.badFields.Error()
		if _, named := errors.AsType[*badBinary](p.badFields); !named {
			text = "malformed request: " + text
		}
		return refused(http.StatusBadRequest, status.New(codes.Internal, text))
	}
	path := p.method.Path()
	if _, _, ok := grpcwire.SplitPath(path); !ok && (!p.laxPath || path[0] == '/') {
		return refused(http.StatusOK, status.Newf(codes.Unimplemented, "malformed method name: %q", grpcwire.Quoted(path)))
	}
	return nil
}

// tooLarge refuses a header list that is larger than announced, of which only the
// beginning is known: "A server that receives a larger header block than it is willing to
// handle can send an HTTP 431 status code", RFC 9113 section 10.5.1.
func (p *requestParser) tooLarge(b *h2.HeaderBlock) *request {
	st := status.New(codes.ResourceExhausted, "header list larger than announced in SETTINGS_MAX_HEADER_LIST_SIZE")
	p = &requestParser{ // its other parts may be large
		request:     request{size: b.CodedLen(), method: unknownMethod("")},
		odd:         usual,
		contentType: p.contentType, httpMethod: p.httpMethod,
	}
	if _, ok := grpcwire.ParseContentType(p.contentType); ok || p.contentType == nil && string(p.httpMethod) == grpcwire.MethodPost { // it may be in the rest
		p.odd.refusal = refused(http.StatusRequestHeaderFieldsTooLarge, st)
	} else {
		p.odd.refusal = p.unlikeGRPC(http.StatusRequestHeaderFieldsTooLarge, st)
		p.odd.refusal.foreign = true
	}
	r := p.kept()
	r.held = h2.NewShared(r.memory(), nil)
	b.SetMemo(r, &r.held)
	return r
}

// unlikeGRPC returns the answer to something that is not a client of gRPC: it also has a text.
func (p *requestParser) unlikeGRPC(code int, st *status.Status) *refusal {
	r := refused(code, st)
	r.contentType = textPlain
	if string(p.httpMethod) != http.MethodHead {
		r.text = st.Message() + hint
	}
	return r
}
