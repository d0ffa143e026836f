// SPDX-License-Identifier: Apache-2.0

package rls

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCache(t *testing.T) {
	now := time.Unix(1000, 0)
	var removed []string
	gone := func(e *answer) { removed = append(removed, e.key.path) }
	c := newCache()
	c.resize(10, now, gone)
	add := func(path string) *answer {
		e := c.add(cacheKey{path: path}, now)
		e.expires = now.Add(time.Minute)
		c.changed(e, e.size(), now, gone)
		return e
	}
	add("aaaa")
	b := add("bbbb")
	add("cccc") // too many, but all are new
	if c.len() != 3 || c.size != 12 {
		t.Errorf("%d entries, %d bytes", c.len(), c.size)
	}
	now = now.Add(minEviction)
	c.get(cacheKey{path: "aaaa"})
	add("dd")
	if diff := cmp.Diff([]string{"bbbb"}, removed); diff != "" || c.size != 10 || c.get(b.key) != nil {
		t.Errorf("%d bytes %s", c.size, diff)
	}
	// Answers that are over go, and failures that are forgotten.
	e := c.get(cacheKey{path: "aaaa"})
	e.expires = now
	failing := c.get(cacheKey{path: "cccc"})
	failing.expires, failing.err, failing.forget = now, fmt.Errorf("x"), now.Add(time.Second)
	c.purge(now, gone)
	if diff := cmp.Diff([]string{"bbbb", "aaaa"}, removed); diff != "" {
		t.Error(diff)
	}
	if c.resetBackoff(); failing.err != nil {
		t.Error("a failure is not forgotten")
	}
	c.clear(gone)
	if c.len() != 0 || c.size != 0 || c.order.Len() != 0 {
		t.Errorf("%d entries, %d bytes", c.len(), c.size)
	}
}
