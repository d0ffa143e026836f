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

func TestEmptied(t *testing.T) {
	for _, tt := range []struct {
		n, most int
		want    bool
	}{{0, few, false}, {0, few + 1, true}, {1, few + 1, false}} {
		if got := Emptied(tt.n, tt.most); got != tt.want {
			t.Errorf("Emptied(%d, %d) is %v", tt.n, tt.most, got)
		}
	}
}
