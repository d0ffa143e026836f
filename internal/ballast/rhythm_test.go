// SPDX-License-Identifier: Apache-2.0

package ballast

import (
	"testing"
	"time"
)

// come has n collections come, and reports whether the last was one too many.
func (r *rhythm) come(now *time.Duration, n int, every time.Duration) (often bool) {
	for range n {
		*now += every
		often = r.often(*now)
	}
	return often
}

func TestRhythm(t *testing.T) {
	var r rhythm
	now := time.Hour
	if r.come(&now, 10*many, while/many*2) {
		t.Error("seldom is often")
	}
	if r.come(&now, many-1, while/many/2) || !r.come(&now, 1, while/many/2) {
		t.Error("it takes another number of collections")
	}
	if r.automatic(100) {
		t.Error("once is enough")
	}
	if !r.come(&now, many, while/many/2) || !r.automatic(100+many) {
		t.Error("twice is not enough")
	}
	if !r.come(&now, many, while/many/2) || r.automatic(100+many+1) {
		t.Error("those that the program asked for count")
	}
	if r.come(&now, many, while) || !r.come(&now, many, while/many/2) || r.automatic(200) {
		t.Error("a pause between the two is overlooked")
	}
}
