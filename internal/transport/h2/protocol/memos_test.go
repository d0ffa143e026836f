// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"testing"

	"google.golang.org/grpc/internal/transport/h2/hpack"
)

// Memos of one connection are for another of the same role, whose account they are not in yet.
func TestMemosServeOthers(t *testing.T) {
	var m memos
	one, two := new(Config), new(Config)
	large := NewShared(memoMaxHeld+1, nil)
	small := NewShared(10, refsOf(t))
	remember := func(block string, memo any, held *Shared) {
		s, _ := m.claim([]byte(block), 7)
		s.memo, s.shared = memo, held
	}
	find := func(block string, gen uint64) *memoSlot { return m.find([]byte(block), gen) }
	m.serve(one)
	remember("small", "s", &small)
	remember("large", "l", &large)
	m.part()
	m.serve(one)
	if s := find("small", 7); s == nil || s.memo != "s" || s.shared != nil {
		t.Errorf("another connection finds %+v", s)
	}
	if find("small", 8) != nil || find("large", 7) != nil {
		t.Error("found with another table, or though it keeps much alive")
	}
	m.serve(two)
	if find("small", 7) != nil {
		t.Error("found by one with another Config")
	}
}

// A memo of another block is found by what it is, with the same table, on the same connection.
func TestMemosThatAreAlike(t *testing.T) {
	var m memos
	held := NewShared(10, nil)
	leave := func(block string, gen uint64, memo any) {
		s, _ := m.claim([]byte(block), gen)
		s.memo, s.shared, s.note = memo, &held, 3
	}
	find := func(gen uint64, memo any) any { return m.alike(gen, func(v any) bool { return v == memo }) }
	leave("one", 7, "a")
	leave("two", 8, "b")
	if find(7, "a") != "a" || find(8, "b") != "b" {
		t.Error("not found")
	}
	if v := find(8, "a"); v != nil {
		t.Errorf("found %v with another table", v)
	}
	m.part()
	if v := find(7, "a"); v != nil {
		t.Errorf("found %v, which is another connection's", v)
	}
	for range memoSlots {
		if s, _ := m.claim([]byte("new"), 7); s.note != 0 {
			t.Error("a new slot has the note of the one before")
		}
	}
}

// What a copy takes is charged to the connection that has it, and nothing of what the original's
// connection counts is touched.
func TestCopyOfSharedIsChargedWhole(t *testing.T) {
	refs := refsOf(t)
	original := NewShared(100, refs)
	var one, two account
	one.hold(&original)
	held, holders := one.held, refs[0].Holders
	c := original.Copy()
	again := c.Copy()
	two.hold(&c)
	two.hold(&again)
	if two.held != 2*held || refs[0].Holders != holders || c.Refs()[0] != refs[0] {
		t.Errorf("two copies are charged with %d, the original with %d; %d hold its field", two.held, held, refs[0].Holders)
	}
	two.drop(&again)
	two.drop(&c)
	one.drop(&original)
	if one.held != 0 || two.held != 0 {
		t.Errorf("%d and %d bytes are left", one.held, two.held)
	}
}

// refsOf is a reference to a field of a decoder's table.
func refsOf(t *testing.T) []*hpack.Field {
	e, d := hpack.NewEncoder(hpack.MaxEncoderTable), new(hpack.Decoder)
	var l hpack.List
	for range 2 {
		l.Reset(1 << 10)
		if err := d.Decode(e.AppendField(nil, "name", "value", hpack.Incremental), &l); err != nil {
			t.Fatal(err)
		}
	}
	f, whole := l.Field(0)
	if f == nil || !whole {
		t.Fatal("no field")
	}
	return []*hpack.Field{f}
}
