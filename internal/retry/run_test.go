// SPDX-License-Identifier: Apache-2.0

package retry

import (
	"bytes"
	"slices"
	"testing"
)

func TestRun(t *testing.T) {
	want := []Small{
		{Body: []byte("abc"), Length: 3},
		{Body: []byte{}, Length: 0},
		{Body: bytes.Repeat([]byte("x"), 900), Compressed: true, Length: 100_000},
		{Body: []byte("d"), Compressed: true, Length: 1 << 30},
	}
	var runs []Run
	for i, m := range want {
		if i == 0 || !runs[len(runs)-1].HasRoom(len(m.Body)) {
			var last *Run
			if i > 0 {
				last = &runs[len(runs)-1]
			}
			runs = append(runs, NewRun(last, len(m.Body)))
		}
		half := len(m.Body) / 2
		runs[len(runs)-1].Add(len(m.Body), m.Length, m.Compressed, slices.Values([][]byte{m.Body[:half], m.Body[half:]}))
	}
	var got []Small
	for i := range runs {
		for m := range runs[i].All() {
			got = append(got, m)
		}
	}
	same := func(a, b Small) bool {
		return bytes.Equal(a.Body, b.Body) && a.Compressed == b.Compressed && a.Length == b.Length
	}
	if !slices.EqualFunc(got, want, same) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestRunMemory: small messages take little more memory than their bytes and the prefixes before them.
func TestRunMemory(t *testing.T) {
	for _, n := range []int{0, 1, 10, 100, 1000} {
		body := slices.Values([][]byte{make([]byte, n)})
		r := NewRun(nil, n)
		sent, held := 0, cap(r.b)
		for sent < 256<<10 {
			if !r.HasRoom(n) {
				r = NewRun(&r, n)
				held += cap(r.b)
			}
			r.Add(n, n, false, body)
			sent += n + 5
		}
		if held > 2*sent+1024 {
			t.Errorf("messages of %d bytes: %d bytes are kept in %d", n, sent, held)
		}
	}
}
