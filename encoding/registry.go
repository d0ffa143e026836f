// SPDX-License-Identifier: Apache-2.0

package encoding

import (
	"maps"
	"sync"
	"sync/atomic"
)

// registry maps names to values. A read takes one atomic load, as every RPC looks up codecs and
// compressors.
type registry[V any] struct {
	mu     sync.Mutex // held by writers
	values atomic.Pointer[map[string]V]
}

func (r *registry[V]) get(name string) (v V) {
	if m := r.values.Load(); m != nil {
		v = (*m)[name]
	}
	return v
}

func (r *registry[V]) set(name string, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := map[string]V{name: v}
	if m := r.values.Load(); m != nil {
		next = maps.Clone(*m)
		next[name] = v
	}
	r.values.Store(&next)
}
