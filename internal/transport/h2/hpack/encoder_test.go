// SPDX-License-Identifier: Apache-2.0

package hpack

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestEncoderSizeUpdates(t *testing.T) {
	for _, tc := range []struct {
		name    string
		ceiling uint32
		sizes   []uint32
		want    string
	}{
		{"default", 4096, nil, ""},
		{"default said again", 4096, []uint32{4096}, ""},
		{"more than we use", 1 << 20, []uint32{1 << 30}, ""},
		{"more and less again", 4096, []uint32{8192, 4096}, "3fe11f"},
		{"less", 4096, []uint32{100}, "3f45"},
		{"none", 4096, []uint32{0}, "20"},
		{"less and more", 4096, []uint32{100, 200}, "20 3fa901"},
		{"less and back", 4096, []uint32{0, 4096}, "20 3fe11f"},
		{"low point between", 4096, []uint32{200, 10, 50, 20, 100}, "20 3f45"},
		{"falling", 4096, []uint32{200, 100}, "3f45"},
		{"a smaller table of our own", 100, nil, "3f45"},
		{"and a peer that allows that", 100, []uint32{2000}, "3f45"},
		{"and one that allows less", 100, []uint32{10}, "2a"},
		{"no table of our own", 0, []uint32{4096}, "20"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := NewEncoder(tc.ceiling)
			for _, n := range tc.sizes {
				e.SetMaxTableSize(n)
			}
			if got := e.Begin(nil); !bytes.Equal(got, unhex(t, tc.want)) {
				t.Errorf("%x, want %s", got, tc.want)
			}
			if got := e.Begin(nil); len(got) != 0 {
				t.Errorf("a second time: %x", got)
			}
		})
	}
}

// A reduction that our table is below already is announced, and changes nothing.
func TestEncoderAnnouncesReduction(t *testing.T) {
	e := NewEncoder(100)
	e.AppendField(e.Begin(nil), "a", "b", Incremental)
	gen := e.Generation()
	e.SetMaxTableSize(2000)
	if got := e.Begin(nil); !bytes.Equal(got, unhex(t, "3f45")) {
		t.Errorf("%x", got)
	}
	if e.Generation() != gen || e.t.n != 1 {
		t.Errorf("%d entries, generation %d, was %d", e.t.n, e.Generation(), gen)
	}
}

func TestEncoderRepresentations(t *testing.T) {
	e := NewEncoder(4096)
	e.AppendField(e.Begin(nil), "dyn", "1", Incremental)
	e.AppendField(nil, ":path", "/p", Incremental)
	for _, tc := range []struct {
		name, value string
		ix          Indexing
		want        string
	}{
		{":method", "GET", Incremental, "82"},
		{":method", "GET", WithoutIndexing, "82"},
		{":method", "GET", NeverIndexed, "12 03474554"},
		{":authority", "", WithoutIndexing, "81"},
		{":status", "500", NeverIndexed, "1e 826c00"},
		{"accept-encoding", "gzip, deflate", Incremental, "90"},
		{":path", "/p", WithoutIndexing, "be"},
		{":path", "/p", NeverIndexed, "14 022f70"},
		{":path", "/q", WithoutIndexing, "04 022f71"},
		{"dyn", "1", Incremental, "bf"},
		{"dyn", "1", NeverIndexed, "1f30 0131"},
		{"dyn", "2", WithoutIndexing, "0f30 0132"},
		{"www-authenticate", "2", WithoutIndexing, "0f2e 0132"},
		{"", "", WithoutIndexing, "00 00 00"},
		{"zz", "2", NeverIndexed, "10 027a7a 0132"},
		{"dyn", "3", Incremental, "7f00 0133"},
	} {
		got := e.AppendField([]byte("x"), tc.name, tc.value, tc.ix)
		if want := append([]byte("x"), unhex(t, tc.want)...); !bytes.Equal(got, want) {
			t.Errorf("%s: %s with %d is %x, want %x", tc.name, tc.value, tc.ix, got, want)
		}
	}
}

func TestEncoderOversizeField(t *testing.T) {
	var e Encoder
	var d Decoder
	block := e.AppendField(e.Begin(nil), "a", "b", Incremental)
	gen := e.Generation()
	big := strings.Repeat("x", 4096-32)
	block = e.AppendField(block, "c", big, Incremental)
	if e.Generation() != gen {
		t.Error("a field that does not fit changed the table")
	}
	block = e.AppendField(block, "a", "b", Incremental)
	if block[len(block)-1] != 0x80|62 {
		t.Errorf("block ends in %x", block[len(block)-1])
	}
	want := []field{{"a", "b"}, {"c", big}, {"a", "b"}}
	wantFields(t, mustDecode(t, &d, block), want)
}

func TestEncoderGeneration(t *testing.T) {
	var e Encoder
	appendRequest(nil, &e, WithoutIndexing)
	gen := e.Generation()
	stored := appendRequest(nil, &e, WithoutIndexing)
	if e.Generation() != gen {
		t.Error("steady state changed the table")
	}
	for i := 0; e.Generation() == gen; i++ {
		if again := appendRequest(nil, &e, WithoutIndexing); !bytes.Equal(again, stored) {
			t.Fatalf("block %x, was %x", again, stored)
		}
		if i == 3 {
			e.AppendField(nil, "new", fmt.Sprint(i), Incremental)
		}
	}
	gen = e.Generation()
	e.SetMaxTableSize(40)
	e.Begin(nil)
	if e.Generation() == gen {
		t.Error("eviction did not change the generation")
	}
}
