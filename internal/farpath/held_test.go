// SPDX-License-Identifier: Apache-2.0

package farpath

import "testing"

func TestHeldGivesBackWhatIsDueFirst(t *testing.T) {
	var h held
	for _, p := range []struct {
		data string
		due  float64
	}{{"c", 3}, {"a", 1}, {"d", 3}, {"b", 2}, {"e", 3}} {
		h.add([]byte(p.data), noon.Add(ms(p.due)))
	}
	if !h.next().due.Equal(noon.Add(ms(1))) {
		t.Errorf("the next is due at %v", h.next().due)
	}
	got := ""
	for h.len() > 0 {
		got += string(h.take())
	}
	if got != "abcde" {
		t.Errorf("they came as %q", got)
	}
}

func TestBuffersHaveRoomAndAreUsedAgain(t *testing.T) {
	var b buffers
	for _, size := range []int{1, 2, 3, 4, 5, 1500, 4096, 4097, virtioSize + 1<<16} {
		buf := b.get(size)
		if len(buf) != 0 || cap(buf) < size {
			t.Errorf("for %d bytes there is room for %d", size, cap(buf))
		}
		buf = append(buf, make([]byte, size)...)
		b.put(buf)
		if again := b.get(size); &again[:1][0] != &buf[0] {
			t.Errorf("a buffer of %d bytes is not used again", size)
		}
	}
}
