// SPDX-License-Identifier: Apache-2.0

package streams

import (
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/internal/handover"
)

// Shared is a message for many streams, of either side. It is encoded, and compressed, when the
// first of them sends it, once for all that do it alike: with the same codec and compressor.
// They then share the memory, which the garbage collector frees after the last. It may be sent
// by any number of goroutines. Interceptors and stats handlers see a *grpc.PreparedMsg.
type Shared[M any] struct {
	message *M

	mu    sync.Mutex                   // is held while the message is encoded
	kinds atomic.Pointer[[]sharedKind] // what it points to does not change
}

// sharedKind is the message as some streams send it.
type sharedKind struct {
	handover.Kind
	prepared any
	err      error
}

// Share makes m a message for many streams. It must not be changed afterwards.
func Share[M any](m *M) *Shared[M] { return &Shared[M]{message: m} }

// forStream returns the message in the form that e's stream sends.
func (s *Shared[M]) forStream(e handover.Encoder) (any, error) {
	if k := s.find(e); k != nil {
		return k.prepared, k.err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.find(e); k != nil {
		return k.prepared, k.err
	}
	prepared, err := e.Prepare(s.message)
	kinds := []sharedKind{{e.Kind(), prepared, err}}
	if others := s.kinds.Load(); others != nil {
		kinds = append(kinds, *others...)
	}
	s.kinds.Store(&kinds)
	return prepared, err
}

// find returns nil if the message was not encoded for e's kind yet.
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
