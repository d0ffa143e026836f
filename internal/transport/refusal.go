// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"context"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// refusal answers a request that is no call for a handler.
type refusal struct {
	httpStatus string
	status     *status.Status
	// What is not of gRPC is answered with a text, which HEAD leaves out; what is, with
	// trailers only.
	contentType string
	text        string
	foreign     bool // the request is not of gRPC at all
}

// hint ends the text of every refusal: it tells who came with curl what this port speaks.
const hint = "\nThis port speaks gRPC (https://grpc.io): HTTP/2, the method POST, a content-type of application/grpc.\n"

const textPlain = "text/plain; charset=utf-8"

// refuse says why a well-formed request is no call for a handler. Where the published
// module refuses it too, the status and its text are the same.
func (p *requestParser) refuse(laxPath bool) *refusal {
	subtype, ok := grpcwire.ParseContentType(p.contentType)
	if !ok {
		r := p.unlikeGRPC(http.StatusUnsupportedMediaType, status.Newf(codes.InvalidArgument,
			"invalid gRPC request content-type %q", p.contentType))
		r.foreign = true
		return r
	}
	p.subtype = subtype
	switch {
	case string(p.httpMethod) != grpcwire.MethodPost:
		return p.unlikeGRPC(http.StatusMethodNotAllowed, status.Newf(codes.Internal,
			"Received a HEADERS frame with :method %q which should be POST", p.httpMethod))
	case p.authority == nil && p.host == nil:
		return refused(http.StatusBadRequest, status.New(codes.Internal, "no host or :authority header present"))
	case p.authority != nil && p.host != nil && !sameHost(p.authority, p.host, p.scheme):
		// "A server SHOULD treat a request as malformed if it contains a Host header field
		// that identifies an entity that differs from the entity in the :authority
		// pseudo-header field", RFC 9113 section 8.3.1.
		return refused(http.StatusBadRequest, status.Newf(codes.Internal,
			"malformed request: host %q differs from :authority %q", p.host, p.authority))
	case p.badTimeout != nil:
		return refused(http.StatusBadRequest, status.Newf(codes.Internal, "malformed grpc-timeout: %v", p.badTimeout))
	case p.badFields != nil:
		return refused(http.StatusBadRequest, status.Newf(codes.Internal, "malformed request: %v", p.badFields))
	}
	if _, _, ok := grpcwire.SplitPath(p.method); !ok && (!laxPath || p.method[0] == '/') {
		return refused(http.StatusOK, status.Newf(codes.Unimplemented, "malformed method name: %q", p.method))
	}
	return nil
}

// tooLarge refuses a header list that is larger than announced, of which only the
// beginning is known: "A server that receives a larger header block than it is willing to
// handle can send an HTTP 431 status code", RFC 9113 section 10.5.1.
func (p *requestParser) tooLarge(b *h2.HeaderBlock) *request {
	st := status.New(codes.ResourceExhausted, "header list larger than announced in SETTINGS_MAX_HEADER_LIST_SIZE")
	r := &request{size: b.Size(), length: -1} // all else may be large
	if _, ok := grpcwire.ParseContentType(p.contentType); ok {
		r.refusal = refused(http.StatusRequestHeaderFieldsTooLarge, st)
	} else {
		r.refusal = p.unlikeGRPC(http.StatusRequestHeaderFieldsTooLarge, st)
		r.refusal.foreign = true
	}
	r.held = h2.NewShared(r.memory(), nil)
	b.SetMemo(r, &r.held)
	return r
}

// refused answers a client of gRPC: with trailers only.
func refused(code int, st *status.Status) *refusal {
	return &refusal{httpStatus: itoa(code), status: st}
}

// unlikeGRPC answers something that is no client of gRPC: with a text, too.
func (p *requestParser) unlikeGRPC(code int, st *status.Status) *refusal {
	r := refused(code, st)
	r.contentType = textPlain
	if string(p.httpMethod) != http.MethodHead {
		r.text = st.Message() + hint
	}
	return r
}

// sameHost compares a Host field with the :authority, where the default port of the scheme
// may be left out.
func sameHost(authority, host, scheme []byte) bool {
	port := []byte(":80")
	if bytes.EqualFold(scheme, []byte("https")) {
		port = []byte(":443")
	}
	return bytes.EqualFold(bytes.TrimSuffix(authority, port), bytes.TrimSuffix(host, port))
}

// expiredRefusal answers a call whose time was up when it came.
var expiredRefusal = refused(http.StatusOK, status.FromContextError(context.DeadlineExceeded))

// refuse answers a request without a handler. It is for the reader, which sends the
// answer at the end of its batch.
func (s *ServerStream) refuse(r *refusal) {
	if f, ok := s.refusalFrames(r); ok && s.h2.Queue(f) != nil {
		s.h2.Reset(frame.InternalError) // the client takes no headers, or is gone
	}
	s.release(true)
}

// refusalFrames ends the call with r, and returns what says so.
func (s *ServerStream) refusalFrames(r *refusal) (f h2.Frames, ok bool) {
	if !s.finish(r.status, &f) {
		return f, false
	}
	s.out.refusal = r
	if r.text != "" {
		f.Headers, f.Trailers, f.End = f.Trailers, nil, true
		// The body is no message, but to the connection it is five bytes and more like
		// any other.
		// It is left out rather than kept for a client that does not let it through.
		f.HasData, f.Optional = true, true
		n := copy(f.Prefix[:], r.text)
		f.Data = mem.BufferSlice{mem.SliceBuffer(r.text[n:])}
	}
	return f, true
}
