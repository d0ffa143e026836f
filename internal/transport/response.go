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

// reading is what a server's block says, without its metadata.
type reading struct {
	httpStatus  int16
	isGRPC      bool // the content type is one of gRPC
	hasStatus   bool
	size        uint32 // of the block, as HPACK coded it
	contentType string
	encoding    string
	status      *status.Status // nil: OK; if hasStatus is false, it has grpc-message alone
	length      int64          // content-length, -1 without
	flaw        *flaw          // nil: nothing is wrong with it
}

// flaw is what is wrong with a block.
type flaw struct {
	malformed  string         // what makes it malformed; "": it is not
	unreadable *status.Status // what is wrong with its metadata, if it is not malformed
}

// parseResponse parses b. It takes no status from a gRPC block that does not end the stream, whatever the
// block says: what is decoded from a status may be a thousand times what the peer has spent for it. The
// error is a fault of this module's, and resets the stream.
func parseResponse(b *h2.HeaderBlock, end bool) (_ *response, err error) {
	defer h2.Contain(&err, panicLog{})
	if r, ok := b.Memo().(*response); ok {
		if b.Foreign() {
			r = r.copy()
			b.SetMemo(r, &r.held)
		}
		return r, nil
	}
	r := &response{reading: reading{size: b.CodedLen(), length: -1}}
	var st grpcwire.StatusFields
	regular := false
	for i := range b.Len() {
		v := b.Value(i)
		kind := b.Kind(i)
		if isPseudo(kind) && (regular || kind != kindStatus) {
			return r.malformedBy("pseudo-header " + grpcwire.Quoted(b.Name(i)) + " is out of place"), nil
		}
		regular = regular || !isPseudo(kind)
		switch kind {
		case kindStatus:
			n, ok := httpStatus(v)
			if !ok || r.httpStatus != 0 {
				return r.malformedBy("malformed :status " + strconv.Quote(grpcwire.Quoted(v))), nil
			}
			r.httpStatus = n
		case kindContentType:
			r.contentType = value(b, i)
			_, r.isGRPC = grpcwire.ParseContentType(v)
		case kindEncoding:
			r.encoding = value(b, i)
		case kindGRPCStatus, kindGRPCMessage, kindStatusDetails:
			st.Add(unsafeString(b.Name(i)), value(b, i))
		case kindMalformed, kindConnection:
			return r.malformedBy("malformed header field " + strconv.Quote(grpcwire.Quoted(b.Name(i)))), nil
		case kindContentLength:
			if parseLength(&r.length, v) != nil {
				return r.malformedBy("malformed content-length"), nil
			}
		}
		if b.Flawed(i) || padded(v) && !isFree(kind) {
			return r.malformedBy("malformed value of header field " + grpcwire.Quoted(b.Name(i))), nil
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
	f, err := newFieldsBuffer(b, true).addBlock(b, true)
	if err != nil {
		r.flaw = &flaw{unreadable: notReadable(err)}
	}
	r.text = f.string()
	r.held = h2.NewShared(r.memory(), f.refs)
	if premature { // a block that ends a stream may be the same
		b.SetMemo(nil, &r.held)
	} else {
		b.SetMemo(r, &r.held)
	}
	return r, nil
}

// httpStatus parses a :status: three digits, from 100 on (RFC 9110, section 15).
func httpStatus(v []byte) (n int16, ok bool) {
	if len(v) != 3 || v[0] == '0' {
		return 0, false
	}
	for _, c := range v {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int16(c-'0')
	}
	return n, true
}

// memory returns how many bytes of memory r takes, without its refs.
func (r *response) memory() int {
	n := int(unsafe.Sizeof(*r)) + len(r.contentType) + len(r.encoding) + len(r.text) + istatus.Memory(r.status)
	if r.flaw != nil {
		n += int(unsafe.Sizeof(*r.flaw)) + len(r.flaw.malformed) + istatus.Memory(r.flaw.unreadable)
	}
	return n
}

// malformedBy returns r after marking it as malformed for that reason.
func (r *response) malformedBy(reason string) *response {
	r.flaw = &flaw{malformed: reason}
	return r
}

// unreadable returns the status of a call whose response has fields that cannot be kept; nil if it has
// none.
func (r *response) unreadable() *status.Status {
	if r.flaw == nil {
		return nil
	}
	return r.flaw.unreadable
}

// notReadable returns that status for err, which says what is wrong with the fields.
func notReadable(err error) *status.Status {
	if bad, ok := errors.AsType[*badBinary](err); ok {
		return status.Newf(codes.Internal, "transport: malformed %s: %v", bad.name, bad.err)
	}
	return status.Newf(codes.Internal, "malformed response: %v", err)
}

// copy returns a copy of r for another connection.
func (r *response) copy() *response { return &response{r.reading, r.keptBlock.copy()} }

// informational reports whether r is an interim response, RFC 9113 section 8.1, which is skipped.
func (r *response) informational() bool { return r.httpStatus >= 100 && r.httpStatus < 200 }

// malformed returns the error for a malformed block; nil if r is not malformed.
func (r *response) malformed() error {
	if r.flaw == nil || r.flaw.malformed == "" {
		return nil
	}
	// "Malformed requests or responses that are detected MUST be treated as a
	// stream error of type PROTOCOL_ERROR", RFC 9113 section 8.1.1.
	return frame.Error{Code: frame.ProtocolError, Reason: r.flaw.malformed}
}

// verdict returns the status of the call that r ends, nil for OK. headers is the block before r, nil if
// there was none.
func (r *response) verdict(headers *response) *status.Status {
	if headers == nil {
		headers = r
	}
	switch {
	case !headers.isGRPC: // whoever answered is not a gRPC server
	case r.hasStatus && r.unreadable() != nil:
		return r.unreadable()
	case r.hasStatus:
		return r.status
	}
	return grpcwire.MissingStatus(int(headers.httpStatus), headers.contentType, r.status.Message())
}
