// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"errors"
	"net/http"
	"strconv"
	"unsafe"

	"google.golang.org/grpc/codes"
	istatus "google.golang.org/grpc/internal/status"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/status"
)

// response is one field block of a server's, parsed: headers, trailers or both
// in one. It is immutable, so that calls with the same block share it.
type response struct {
	reading
	keptBlock
}

// reading is what a block of a server's says, but for its metadata.
type reading struct {
	httpStatus  int16
	isGRPC      bool // the content type is one of gRPC
	hasStatus   bool
	size        uint32
	contentType string
	encoding    string
	status      *status.Status // nil: OK; without hasStatus what grpc-message alone says
	length      int64          // content-length, -1 without
	fault       string         // what makes the block malformed, or ""
	unreadable  *status.Status // what is wrong with its metadata; nil: nothing
}

// parseResponse reads b. A block of gRPC's that does not end the stream has no status, whatever it
// says: what is decoded of one may be a thousand times what the peer has spent for it.
func parseResponse(b *h2.HeaderBlock, end bool) *response {
	if r, ok := b.Memo().(*response); ok {
		if b.Foreign() {
			r = r.copy()
			b.SetMemo(r, &r.held)
		}
		return r
	}
	r := &response{reading: reading{size: uint32(b.Size()), length: -1}}
	var st grpcwire.StatusFields
	regular := false
	for i := range b.Len() {
		v := b.Value(i)
		kind := b.Kind(i)
		if isPseudo(kind) && (regular || kind != kindStatus) {
			r.fault = "pseudo-header " + string(b.Name(i)) + " is out of place"
			return r
		}
		regular = regular || !isPseudo(kind)
		switch kind {
		case kindStatus:
			n, err := strconv.Atoi(string(v))
			if err != nil || len(v) != 3 || r.httpStatus != 0 {
				r.fault = "malformed :status " + strconv.Quote(string(v))
				return r
			}
			r.httpStatus = int16(n)
		case kindContentType:
			r.contentType = value(b, i)
			_, r.isGRPC = grpcwire.ParseContentType(v)
		case kindEncoding:
			r.encoding = value(b, i)
		case kindGRPCStatus, kindGRPCMessage, kindStatusDetails:
			st.Add(unsafeString(b.Name(i)), value(b, i))
		case kindMalformed, kindConnection:
			r.fault = "malformed header field " + strconv.Quote(string(b.Name(i)))
			return r
		case kindContentLength:
			if parseLength(&r.length, v) != nil {
				r.fault = "malformed content-length"
				return r
			}
		}
		if b.Flawed(i) || padded(v) && !isFree(kind) {
			r.fault = "malformed value of header field " + string(b.Name(i))
			return r
		}
	}
	premature := !end && r.isGRPC && st != (grpcwire.StatusFields{})
	if premature {
		st = grpcwire.StatusFields{}
	}
	if r.hasStatus = st.HasStatus(); r.hasStatus && (st.Code != "0" || st.HasDetails()) {
		// An OK is an OK, however it is spelt, and whatever comes with it.
		if s := st.Status(int(r.httpStatus)); s.Code() != codes.OK {
			r.status = s
		}
	} else if !r.hasStatus && st.Message != "" {
		r.status = st.Status(http.StatusOK)
	}
	text, err := keepFields(b)
	if err != nil {
		r.unreadable = unreadable(err)
	}
	r.text = text
	r.held = h2.NewShared(r.memory(), b.Pages())
	if premature { // what ends a stream may be the same
		b.SetMemo(nil, &r.held)
	} else {
		b.SetMemo(r, &r.held)
	}
	return r
}

// memory is how many bytes of memory r takes, without its pages.
func (r *response) memory() int {
	return int(unsafe.Sizeof(*r)) + len(r.contentType) + len(r.encoding) + len(r.text) +
		istatus.Memory(r.status) + istatus.Memory(r.unreadable)
}

// unreadable is the status of a call whose response has fields that cannot be kept.
func unreadable(err error) *status.Status {
	if bad, ok := errors.AsType[*badBinary](err); ok {
		return status.Newf(codes.Internal, "transport: malformed %s: %v", bad.name, bad.err)
	}
	return status.Newf(codes.Internal, "malformed response: %v", err)
}

// copy is r for another connection.
func (r *response) copy() *response { return &response{r.reading, r.keptBlock.copy()} }

// informational reports an interim response, RFC 9113 section 8.1: it is to be
// skipped.
func (r *response) informational() bool { return r.httpStatus >= 100 && r.httpStatus < 200 }

func (r *response) malformed() error {
	// "Malformed requests or responses that are detected MUST be treated as a
	// stream error of type PROTOCOL_ERROR", RFC 9113 section 8.1.1.
	return frame.Error{Code: frame.ProtocolError, Reason: r.fault}
}

// verdict is the status of the call that r ends, nil for OK. headers is the block before r,
// nil if there was none.
func (r *response) verdict(headers *response) *status.Status {
	if headers == nil {
		headers = r
	}
	switch {
	case !headers.isGRPC: // whoever answered is not a gRPC server
	case r.hasStatus && r.unreadable != nil:
		return r.unreadable
	case r.hasStatus:
		return r.status
	}
	return grpcwire.MissingStatus(int(headers.httpStatus), headers.contentType, r.status.Message())
}
