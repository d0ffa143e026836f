// SPDX-License-Identifier: Apache-2.0

// Package attributes holds an immutable set of keys with values, by which
// resolvers, balancers and credentials hand data to each other.
//
// Experimental: this API may change in a later release.
package attributes

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Attributes is an immutable set of keys with values; the zero value and nil are
// empty. Keys are compared with ==, so they must be of comparable types, and each
// user should take a key type of its own. Safe for concurrent use.
//
// It is a list whose newer entries hide older ones of the same key: sets hold a few
// keys, and making one from another is then a single small allocation.
type Attributes struct {
	older *Attributes
	key   any // nil in the zero value only
	value any
}

// New returns the set of one key with its value.
func New(key, value any) *Attributes {
	return &Attributes{key: key, value: value}
}

// WithValue returns a set with all of a and key, whose value replaces the one it
// has in a. A nil value removes the key. a may be nil.
func (a *Attributes) WithValue(key, value any) *Attributes {
	return &Attributes{older: a, key: key, value: value}
}

// Value returns the value of key, nil if the set does not have it. a may be nil.
func (a *Attributes) Value(key any) any {
	if key == nil {
		return nil
	}
	for ; a != nil; a = a.older {
		if a.key == key {
			return a.value
		}
	}
	return nil
}

// Equal reports whether both sets have the same keys with equal values. Values with
// a method Equal(any) bool are compared by it, others with ==, or with
// [reflect.DeepEqual] where they can't be (a map, a slice): such values must not change.
func (a *Attributes) Equal(o *Attributes) bool {
	if a == o {
		return true
	}
	count := 0
	for key, value := range a.all {
		other := o.Value(key)
		if other == nil || !equalValues(value, other) {
			return false
		}
		count++
	}
	for range o.all {
		count--
	}
	return count == 0
}

// String shows the set for logs, the newest key first. Keys and values that are neither
// strings nor a fmt.Stringer show as [fmt] prints them as pointers.
func (a *Attributes) String() string {
	var b strings.Builder
	b.WriteByte('{')
	separator := ""
	for key, value := range a.all {
		fmt.Fprintf(&b, "%s%q: %q ", separator, text(key), text(value))
		separator = ", "
	}
	b.WriteByte('}')
	return b.String()
}

// MarshalJSON shows the same as a JSON object of strings, for logs too: it cannot be
// read back. The error is always nil.
func (a *Attributes) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for key, value := range a.all {
		if len(b) > 1 {
			b = append(b, ", "...)
		}
		b = append(appendJSON(b, text(key)), ": "...)
		b = append(appendJSON(b, text(value)), ' ')
	}
	return append(b, '}'), nil
}

func appendJSON(b []byte, s string) []byte {
	j, _ := json.Marshal(s) // a string has no errors
	return append(b, j...)
}

// all yields the visible entries, newest first.
func (a *Attributes) all(yield func(key, value any) bool) {
	for at := a; at != nil; at = at.older {
		if at.key == nil || at.value == nil || a.hides(at) {
			continue
		}
		if !yield(at.key, at.value) {
			return
		}
	}
}

// hides reports whether an entry newer than old has its key.
func (a *Attributes) hides(old *Attributes) bool {
	for ; a != old; a = a.older {
		if a.key == old.key {
			return true
		}
	}
	return false
}

func equalValues(x, y any) bool {
	if e, ok := x.(interface{ Equal(any) bool }); ok {
		return e.Equal(y)
	}
	if !reflect.ValueOf(x).Comparable() {
		return reflect.DeepEqual(x, y)
	}
	return x == y
}

func text(x any) string {
	switch x := x.(type) {
	case string:
		return x
	case fmt.Stringer:
		return x.String()
	}
	return fmt.Sprintf("<%p>", x)
}
