// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2"
)

// callFields is a ClientStream as the source of its request headers.
type callFields ClientStream

// AppendFields implements h2.FieldSource.
func (s *callFields) AppendFields(w *h2.FieldWriter) {
	call, c := s.call, s.client
	w.Field(grpcwire.HeaderMethod, grpcwire.MethodPost)
	w.Field(grpcwire.HeaderScheme, c.scheme())
	w.Field(grpcwire.HeaderPath, call.Method)
	if call.Authority != "" {
		w.Field(grpcwire.HeaderAuthority, call.Authority)
	} else {
		w.Field(grpcwire.HeaderAuthority, c.authority)
	}
	w.Field(grpcwire.HeaderContentType, grpcwire.ContentType(call.ContentSubtype))
	w.Field(grpcwire.HeaderUserAgent, c.cfg.UserAgent)
	w.Field(grpcwire.HeaderTE, grpcwire.TETrailers)
	if call.PreviousAttempts > 0 {
		w.Once(grpcwire.HeaderPreviousAttempts, itoa(call.PreviousAttempts))
	}
	if call.SendCompressor != "" {
		w.Field(grpcwire.HeaderEncoding, call.SendCompressor)
	}
	if call.AcceptCompressors != "" {
		w.Field(grpcwire.HeaderAcceptEncoding, call.AcceptCompressors)
	}
	if call.timeout != "" {
		w.Once(grpcwire.HeaderTimeout, call.timeout)
	}
	for i := 0; i+1 < len(call.Auth); i += 2 {
		writePair(w, call.Auth[i], call.Auth[i+1])
	}
	if call.outgoing != nil {
		call.outgoing.Range(func(k, v string) bool {
			writePair(w, k, v)
			return true
		})
	}
	for i := 0; i+1 < len(call.Picked); i += 2 {
		writePair(w, call.Picked[i], call.Picked[i+1])
	}
}
