// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2"
)

// replyHeaders is a ServerStream as the source of its response headers. What it
// reads does not change any more.
type replyHeaders ServerStream

// AppendFields implements h2.FieldSource.
func (s *replyHeaders) AppendFields(w *h2.FieldWriter) {
	w.Field(grpcwire.HeaderStatus, "200")
	w.Field(grpcwire.HeaderContentType, grpcwire.ContentType(s.req.subtype))
	if name := s.SendCompress(); name != "" {
		w.Field(grpcwire.HeaderEncoding, name)
	}
	writeMD(w, s.cold().header)
}

// replyTrailers is a ServerStream as the source of its trailers.
type replyTrailers ServerStream

// AppendFields implements h2.FieldSource.
func (s *replyTrailers) AppendFields(w *h2.FieldWriter) {
	if s.out.bare {
		httpStatus, contentType := "200", ""
		if r := s.out.refusal; r != nil {
			httpStatus, contentType = r.httpStatus, r.contentType
		}
		if contentType == "" {
			contentType = grpcwire.ContentType(s.req.subtype)
		}
		w.Field(grpcwire.HeaderStatus, httpStatus)
		w.Field(grpcwire.HeaderContentType, contentType)
	}
	st := &s.out.status
	w.Field(grpcwire.HeaderGRPCStatus, st.Code)
	if st.Message != "" {
		w.Once(grpcwire.HeaderGRPCMessage, st.Message)
	}
	if st.Details != "" {
		w.Once(grpcwire.HeaderStatusDetails, st.Details)
	}
	for k, vs := range s.cold().trailer {
		if k == grpcwire.HeaderStatusDetails && st.Details != "" {
			continue
		}
		for _, v := range vs {
			writeReply(w, k, v)
		}
	}
}
