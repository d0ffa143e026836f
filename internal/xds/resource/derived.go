// SPDX-License-Identifier: Apache-2.0

package resource

import "sync"

// Derived caches values that users of a resource compute from it. All channels share these
// values, which live as long as the resource. The zero value is empty. It is safe for concurrent
// use.
type Derived struct {
	mu     sync.Mutex
	values map[any]any
}

// Derive returns the value that is cached for the key. If there is none, it calls create and
// caches the result. Keys must be comparable, and there must be only a few. Callers share the
// value and must not change it.
func Derive[T any](d *Derived, key any, create func() T) T {
	d.mu.Lock()
	defer d.mu.Unlock()
	if v, ok := d.values[key].(T); ok {
		return v
	}
	if d.values == nil {
		d.values = make(map[any]any)
	}
	v := create()
	d.values[key] = v
	return v
}
