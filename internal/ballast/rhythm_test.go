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
	again := func(collections, allocated uint64) (rate uint64, ok bool) {
		return r.again(now, state{collections: collections, allocated: allocated})
	}
	if _, ok := again(100, 1<<30); ok {
		t.Error("once is enough")
	}
	if !r.come(&now, many, while/many/2) {
		t.Error("they are no longer often")
	}
	if rate, ok := again(100+many, 1<<30+1<<20); !ok || rate != 2<<20 {
		t.Errorf("twice: %v, %d bytes a second", ok, rate)
	}
	if !r.come(&now, many, while/many/2) {
		t.Error("they are no longer often")
	}
	if _, ok := again(100+many+1, 2<<30); ok {
		t.Error("those that the program asked for count")
	}
	if r.come(&now, many, while) || !r.come(&now, many, while/many/2) {
		t.Error("a pause is overlooked")
	}
	if _, ok := again(200, 2<<30); ok {
		t.Error("a pause between the two is overlooked")
	}
}
