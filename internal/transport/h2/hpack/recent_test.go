// SPDX-License-Identifier: Apache-2.0

package hpack

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestRecent: what the encoder remembers is what it would find, whatever goes on in the
// table, and no more.
func TestRecent(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	e, plain := NewEncoder(400), NewEncoder(400) // a few entries
	for i := range 5000 {
		switch random.IntN(100) {
		case 0:
			n := uint32(random.IntN(500))
			e.SetMaxTableSize(n)
			plain.SetMaxTableSize(n)
		case 1:
			e.recent = recent{}
		}
		got, want := e.Begin(nil), plain.Begin(nil)
		for range 1 + random.IntN(4) {
			name, value := fmt.Sprint("n", random.IntN(6)), fmt.Sprint(random.IntN(12))
			if random.IntN(8) == 0 {
				name, value = ":method", "POST"
			}
			ix := Indexing(random.IntN(3))
			got = e.AppendField(got, name, value, ix)
			plain.recent = recent{}
			want = plain.AppendField(want, name, value, ix)
		}
		if string(got) != string(want) {
			t.Fatalf("block %d is % x, without what is remembered % x", i, got, want)
		}
	}
}

func TestAppendKnown(t *testing.T) {
	e := NewEncoder(MaxEncoderTable)
	known := func(name, value string) bool {
		_, ok := e.AppendKnown(nil, name, value)
		return ok
	}
	if known("a", "b") || known("", "") {
		t.Error("known before it was sent")
	}
	e.AppendField(nil, "a", "b", WithoutIndexing)
	if known("a", "b") {
		t.Error("known, though in no table")
	}
	e.AppendField(nil, "a", "b", Incremental)
	e.AppendField(nil, "a", "b", Incremental)
	if !known("a", "b") {
		t.Error("not known, though in the table and found there")
	}
	e.recent = recent{}
	if known("a", "b") {
		t.Error("not forgotten")
	}
}
