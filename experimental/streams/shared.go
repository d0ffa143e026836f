// SPDX-License-Identifier: Apache-2.0

package streams

import (
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/internal/handover"
)

// Shared is a message for many streams, of either side. The first stream that sends it encodes and
// compresses it, once for all streams that have the same codec (a value that can be compared) and compressor. They then share the
// memory, which the garbage collector frees. Several goroutines may send a Shared at the same time.
// Interceptors and stats handlers see a *grpc.PreparedMsg.
type Shared[M any] struct {
	message *M

	mu    sync.Mutex                   // held while the message is encoded
	kinds atomic.Pointer[[]sharedKind] // the slice is immutable
}

// sharedKind is the message in the form in which streams of one Kind send it.
type sharedKind struct {
	handover.Kind
	prepared any
	err      error
}

// Share returns m as a message for many streams. The caller must not change m afterwards.
func Share[M any](m *M) *Shared[M] { return &Shared[M]{message: m} }

// forStream returns the message in the form in which e's stream sends it.
func (s *Shared[M]) forStream(e handover.Encoder) (any, error) {
	if k := s.find(e); k != nil {
		return k.prepared, k.err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.find(e); k != nil {
		return k.prepared, k.err
	}
	kind := e.Kind()
	prepared, err := e.Prepare(s.message)
	if !e.IsKind(&kind) { // its codec can't be compared: no stream would find the form again
		return prepared, err
	}
	kinds := []sharedKind{{kind, prepared, err}}
	if others := s.kinds.Load(); others != nil {
		kinds = append(kinds, *others...)
	}
	s.kinds.Store(&kinds)
	return prepared, err
}

// find returns the form for e's Kind, or nil if the message has not been encoded for that yet.
func (s *Shared[M]) find(e handover.Encoder) *sharedKind {
	kinds := s.kinds.Load()
	if kinds == nil {
		return nil
	}
	for i := range *kinds {
		if k := &(*kinds)[i]; e.IsKind(&k.Kind) {
			return k
		}
	}
	return nil
}
