// SPDX-License-Identifier: Apache-2.0

package same

import "testing"

func TestValue(t *testing.T) {
	n := 1
	f := func() {}
	for _, tt := range []struct {
		a, b any
		want bool
	}{
		{nil, nil, true},
		{nil, 1, false},
		{1, nil, false},
		{1, 1, true},
		{1, 2, false},
		{1, "1", false},
		{&n, &n, true},
		{f, f, false},
		{[]int{1}, []int{1}, false},
		{[1]any{f}, [1]any{f}, false},
	} {
		if got := Value(tt.a, tt.b); got != tt.want {
			t.Errorf("%v, %v: %t", tt.a, tt.b, got)
		}
	}
}
