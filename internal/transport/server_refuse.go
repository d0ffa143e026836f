// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/mem"
)

// refuse answers a request that no handler may see. The reader calls it, and sends the answer at the end of
// its batch.
func (s *ServerStream) refuse(r *refusal) {
	if f, ok := s.refusalFrames(r); ok && s.h2.Queue(f) != nil {
		s.h2.Reset(frame.InternalError) // the client takes no headers, or is gone
	}
	s.release(true)
}

// refusalFrames ends the call with r, and returns the frames of the answer.
func (s *ServerStream) refusalFrames(r *refusal) (f h2.Frames, ok bool) {
	if !s.finish(r.status, &f) {
		return f, false
	}
	s.out.refusal = r // a failure's outcome is the call's own, not okOutcome
	if r.text != "" {
		f.Headers, f.Trailers, f.End = f.Trailers, nil, true
		// The text is not a message, but package h2 takes any body as five bytes and the rest.
		// It is left out if the client makes us hold too much already.
		f.HasData, f.Optional = true, true
		n := copy(f.Prefix[:], r.text)
		f.Data = h2.OnePiece(mem.SliceBuffer(r.text[n:]))
	}
	return f, true
}
