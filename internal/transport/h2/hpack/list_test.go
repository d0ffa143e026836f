// SPDX-License-Identifier: Apache-2.0

package hpack

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"unsafe"
)

func TestListFieldSize(t *testing.T) {
	if n := unsafe.Sizeof(listField{}); n > listFieldSize {
		t.Errorf("listField takes %d octets, more than %d", n, listFieldSize)
	}
}

func TestListLimit(t *testing.T) {
	var e Encoder
	block := e.AppendField(e.Begin(nil), "a", "1", Incremental) // 34
	block = e.AppendField(block, "b", strings.Repeat("2", 100), Incremental)
	block = e.AppendField(block, "c", "3", Incremental)
	block = e.AppendField(block, "d", strings.Repeat("\xfe", 10000), WithoutIndexing)
	block = e.AppendField(block, "a", "1", Incremental) // indexed
	const size = 34 + 133 + 34 + 10033 + 34
	for _, tc := range []struct {
		limit uint32
		n     int
	}{
		{0, 0},
		{33, 0},
		{34, 1},
		{166, 1},
		{167, 2},
		{201, 3},
		{10233, 3},
		{size - 1, 4},
		{size, 5},
		{math.MaxUint32, 5},
	} {
		var d Decoder
		var l List
		l.Reset(tc.limit)
		if err := d.Decode(block, &l); err != nil {
			t.Fatal(err)
		}
		if l.Len() != tc.n || l.Size() != size || l.TooLarge() != (tc.n < 5) {
			t.Errorf("limit %d: %d fields of %d octets, too large: %v", tc.limit, l.Len(), l.Size(), l.TooLarge())
		}
		// The table is in step all the same.
		wantFields(t, mustDecode(t, &d, []byte{0x80 | 62, 0x80 | 64}), []field{
			{"c", "3"}, {"a", "1"},
		})
	}
}

// Whatever a peer sends, a list holds little more than its limit and what one
// insertion in the table needs.
func TestListMemoryBound(t *testing.T) {
	const limit = 1000
	name, value := strings.Repeat("n", 1<<20), strings.Repeat("\xff", 1<<20)
	var block []byte
	for _, ix := range []Indexing{NeverIndexed, WithoutIndexing, Incremental} {
		block = appendInt(block, literalForms[ix].pattern, literalForms[ix].prefix, 0)
		block = appendString(appendString(block, name), value)
		block = appendInt(block, literalForms[ix].pattern, literalForms[ix].prefix, 0)
		block = append(appendInt(block, 0, 7, 1<<20), name...)
		block = append(appendInt(block, 0, 7, 1<<20), value...)
	}
	// The largest entry that the table takes, many times over.
	block = appendString(append(block, 0x40, 0), strings.Repeat("v", 4064))
	block = append(block, bytes.Repeat([]byte{0x80 | 62}, 1<<20)...)
	var d Decoder
	var l List
	l.Reset(limit)
	if err := d.Decode(block, &l); err != nil {
		t.Fatal(err)
	}
	if !l.TooLarge() || l.Len() != 0 || uint64(l.Size()) < min(1<<32, math.MaxInt) {
		t.Errorf("%d fields of %d octets", l.Len(), l.Size())
	}
	if l.Cap() > 10<<10 {
		t.Errorf("list holds %d octets", l.Cap())
	}
	l.Release()
	if l.Cap() != 0 || l.Len() != 0 || l.limit != limit {
		t.Errorf("released list: %d octets, %d fields", l.Cap(), l.Len())
	}
}

func TestListOwnsItsMemory(t *testing.T) {
	var e Encoder
	var d Decoder
	var l List
	block := e.AppendField(e.Begin(nil), "name", "value!", Incremental)
	block = e.AppendField(block, "name", "value!", Incremental)
	l.Reset(math.MaxUint32)
	if err := d.Decode(block, &l); err != nil {
		t.Fatal(err)
	}
	clear(block)
	clear(d.t.arena)
	wantFields(t, fieldsOf(&l), []field{{"name", "value!"}, {"name", "value!"}})
	// Appending to a slice must not reach its neighbour.
	_ = append(l.Name(0), 'x')
	_ = append(l.Value(0), 'x')
	wantFields(t, fieldsOf(&l), []field{{"name", "value!"}, {"name", "value!"}})
}
