// SPDX-License-Identifier: Apache-2.0

package attributes_test

import (
	"encoding/json"
	"testing"

	"google.golang.org/grpc/attributes"
)

type keyA struct{}

func (keyA) String() string { return "key A" }

type keyB struct{}

// set is a value that == cannot compare.
type set map[string]bool

func (s set) Equal(o any) bool {
	other, ok := o.(set)
	if !ok || len(other) != len(s) {
		return false
	}
	for k := range s {
		if !other[k] {
			return false
		}
	}
	return true
}

func TestValue(t *testing.T) {
	var none *attributes.Attributes
	if none.Value(keyA{}) != nil || new(attributes.Attributes).Value(nil) != nil {
		t.Error("empty sets have values")
	}
	a := none.WithValue(keyA{}, 1)
	b := a.WithValue(keyB{}, "two").WithValue(keyA{}, 3)
	removed := b.WithValue(keyA{}, nil)
	for _, tt := range []struct {
		set  *attributes.Attributes
		key  any
		want any
	}{
		{a, keyA{}, 1},
		{a, keyB{}, nil},
		{b, keyA{}, 3},
		{b, keyB{}, "two"},
		{removed, keyA{}, nil},
		{removed, keyB{}, "two"},
	} {
		if got := tt.set.Value(tt.key); got != tt.want {
			t.Errorf("%v of %v: %v, want %v", tt.key, tt.set, got, tt.want)
		}
	}
}

func TestEqual(t *testing.T) {
	var none *attributes.Attributes
	ab := attributes.New(keyA{}, 1).WithValue(keyB{}, set{"x": true})
	for _, tt := range []struct {
		name string
		x, y *attributes.Attributes
		want bool
	}{
		{"nil and nil", none, nil, true},
		{"nil and zero", none, new(attributes.Attributes), true},
		{"nil and one", none, attributes.New(keyA{}, 1), false},
		{"another value", attributes.New(keyA{}, 1), attributes.New(keyA{}, 2), false},
		{"another type", attributes.New(keyA{}, 1), attributes.New(keyA{}, int64(1)), false},
		{"another key", attributes.New(keyA{}, 1), attributes.New(keyB{}, 1), false},
		{"another order", ab, attributes.New(keyB{}, set{"x": true}).WithValue(keyA{}, 1), true},
		{"another set", ab, ab.WithValue(keyB{}, set{"y": true}), false},
		{"overwritten", ab, ab.WithValue(keyA{}, 2).WithValue(keyA{}, 1), true},
		{"removed", ab.WithValue(keyB{}, nil), attributes.New(keyA{}, 1), true},
		{"a part", ab, attributes.New(keyA{}, 1), false},
	} {
		if tt.x.Equal(tt.y) != tt.want || tt.y.Equal(tt.x) != tt.want {
			t.Errorf("%s: want %v, got %v and %v", tt.name, tt.want, tt.x.Equal(tt.y), tt.y.Equal(tt.x))
		}
	}
}

// Values that can't be compared with == are compared by what they hold.
func TestEqualIncomparable(t *testing.T) {
	of := func(v any) *attributes.Attributes { return attributes.New("k", v) }
	if !of([]string{"a"}).Equal(of([]string{"a"})) || of([]string{"a"}).Equal(of([]string{"b"})) {
		t.Error("slices compare wrongly")
	}
	if f := func() {}; of(f).Equal(of(f)) {
		t.Error("a func equals another")
	}
	if of(map[string]int{"a": 1}).Equal(of(1)) {
		t.Error("a map equals a number")
	}
}

func TestText(t *testing.T) {
	a := attributes.New(keyA{}, `quoted "text"`).WithValue("b", keyA{}).WithValue("c", 1).WithValue("c", nil)
	if got, want := a.String(), `{"b": "key A" , "key A": "quoted \"text\"" }`; got != want {
		t.Errorf("String: %s, want %s", got, want)
	}
	want := `{"b":"key A","key A":"quoted \"text\""}`
	if b, err := json.Marshal(a); err != nil || string(b) != want {
		t.Errorf("JSON: %s, %v", b, err)
	}
	var none *attributes.Attributes
	if got := none.String(); got != "{}" {
		t.Errorf("nil prints %s", got)
	}
	if b, err := attributes.New(keyB{}, new(int)).WithValue(1, []byte("x")).MarshalJSON(); err != nil || !json.Valid(b) {
		t.Errorf("not JSON: %s, %v", b, err)
	}
}
