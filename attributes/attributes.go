// SPDX-License-Identifier: Apache-2.0

// Package attributes has an immutable set of keys with values. Resolvers, balancers
// and credentials use it to pass data to each other.
//
// Experimental: this API may change in a later release.
package attributes

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Attributes is an immutable set of keys with values. The zero value and nil are
// empty sets. Keys are compared with ==, so their types must be comparable, and each
// user should define a key type of its own. It is safe for concurrent use.
//
// It is a list in which newer entries hide older ones with the same key. Sets have few
// keys, and with a list only one small allocation is needed to make one set from another.
type Attributes struct {
	older *Attributes
	key   any // nil in the zero value only
	value any
}

// New returns a set with one key and its value.
func New(key, value any) *Attributes {
	return &Attributes{key: key, value: value}
}

// WithValue returns a set with all entries of a, in which key has the given value. A nil
// value removes the key. a may be nil.
func (a *Attributes) WithValue(key, value any) *Attributes {
	return &Attributes{older: a, key: key, value: value}
}

// Value returns the value of key, or nil if the set does not have it. a may be nil.
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

// Equal reports whether both sets have the same keys with equal values. It compares
// values that have a method Equal(any) bool by that method, values that are not
// comparable (such as a map or a slice) with [reflect.DeepEqual], and all others with ==.
// Values that are not comparable must not change.
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

// String returns a text for logs, with the newest key first. Keys and values that are
// neither strings nor a fmt.Stringer are formatted with the verb %p of package [fmt].
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

// MarshalJSON returns the same texts as a JSON object of strings. It too is for logs: the
// object can't be unmarshaled to Attributes. The error is always nil.
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
	j, _ := json.Marshal(s) // marshaling a string never fails
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
