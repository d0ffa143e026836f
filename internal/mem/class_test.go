// SPDX-License-Identifier: Apache-2.0

package mem

import "testing"

func TestShardWord(t *testing.T) {
	for _, tt := range []struct{ lent, kept int64 }{
		{0, 0}, {1, 0}, {0, 1}, {-1, 0}, {0, -1}, {-3, -2}, {5, -2}, {-5, 2}, {1 << 30, 1 << 30}, {-1 << 30, -1 << 30},
	} {
		var s shard
		s.word.Add(tt.lent * oneLent)
		s.word.Add(tt.kept * oneKept)
		if lent, kept := halves(s.word.Load()); lent != tt.lent || kept != tt.kept {
			t.Errorf("%+v: read back %d and %d", tt, lent, kept)
		}
		s.forget()
		if lent, kept := halves(s.word.Load()); lent != tt.lent || kept != 0 {
			t.Errorf("%+v: after forget %d and %d", tt, lent, kept)
		}
	}
}
