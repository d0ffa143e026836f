// SPDX-License-Identifier: Apache-2.0

package shrink

import "testing"

func TestSlice(t *testing.T) {
	for _, tt := range []struct{ len, cap, want int }{
		{0, 0, 0},
		{0, 64, 64}, // too few to matter
		{32, 128, 128},
		{31, 128, 64},
		{0, 1024, 512},
	} {
		s := make([]int, tt.len, tt.cap)
		for i := range s {
			s[i] = i
		}
		got := Slice(s)
		if len(got) != tt.len || cap(got) != tt.want {
			t.Errorf("%d of %d: %d of %d, want room for %d", tt.len, tt.cap, len(got), cap(got), tt.want)
		}
		for i, v := range got {
			if v != i {
				t.Fatalf("%d of %d: element %d is %d", tt.len, tt.cap, i, v)
			}
		}
	}
}

func TestDelete(t *testing.T) {
	const many = 1000
	m, most, copies := map[int]int{}, 0, 0
	for i := range many {
		m[i] = -i
	}
	for i := range many {
		was := most
		if m = Delete(m, i, &most); most < was {
			copies++
		}
		if len(m) != many-i-1 || most > max(few, 4*len(m)+4) && i > many*3/4 {
			t.Fatalf("%d entries, of %d", len(m), most)
		}
		for k, v := range m {
			if v != -k || k <= i {
				t.Fatalf("%d: %d after %d", k, v, i)
			}
		}
	}
	if copies == 0 || copies > 4 {
		t.Errorf("%d copies", copies)
	}
	if none := Delete(map[int]int(nil), 1, new(int)); none != nil {
		t.Error("a map that nobody has made")
	}
}
