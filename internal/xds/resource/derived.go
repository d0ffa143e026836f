// SPDX-License-Identifier: Apache-2.0

package resource

import "sync"

// Derived is what users of a resource make of it, once for all channels; it lives as long as the
// resource. The zero value has nothing. It is safe for concurrent use.
type Derived struct {
	mu     sync.Mutex
	values map[any]any
}

// Derive returns what was made for the key, and makes it if there is nothing yet. There must be
// few keys, all of them comparable; the value must not be changed, as others have it too.
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
