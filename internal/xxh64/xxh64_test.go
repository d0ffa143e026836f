// SPDX-License-Identifier: Apache-2.0

package xxh64

import "testing"

func TestSum(t *testing.T) {
	for _, tt := range []struct {
		text string
		want uint64
	}{
		{"", 0xef46db3751d8e999},
		{"a", 0xd24ec4f1a98c6e5b},
		{"as", 0x1c330fb2d66be179},
		{"asd", 0x631c37ce72a97393},
		{"asdf", 0x415872f599cea71e},
		{"abc", 0x44bc2cf5ad770999},
		// 63 bytes: a stripe and some of everything else.
		{"Call me Ishmael. Some years ago--never mind how long precisely-", 0x02a2e85470d6fd96},
	} {
		if got := Sum([]byte(tt.text)); got != tt.want {
			t.Errorf("%q: %#x, want %#x", tt.text, got, tt.want)
		}
	}
}

func FuzzSum(f *testing.F) {
	f.Add([]byte("0123456789abcdef0123456789abcdef0123456789abcdef"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h := Sum(b)
		for i := range b {
			b[i] ^= 0x80
			if Sum(b) == h {
				t.Errorf("the hash of %q doesn't depend on byte %d", b, i)
			}
			b[i] ^= 0x80
		}
	})
}
