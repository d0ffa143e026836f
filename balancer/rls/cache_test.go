// SPDX-License-Identifier: Apache-2.0

package rls

import (
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCache(t *testing.T) {
	now := time.Unix(1000, 0)
	var removed []string
	gone := func(e *answer) { removed = append(removed, e.key.path) }
	c := newCache()
	c.resize(3*answerCost+10, now, gone)
	add := func(path string) *answer {
		e := c.add(cacheKey{path: path}, now)
		e.expires = now.Add(time.Minute)
		c.changed(e, e.size(), now, gone)
		return e
	}
	add("aaaa")
	b := add("bbbb")
	add("cccc") // too many, but all are new
	if c.len() != 3 || c.size != 3*answerCost+12 {
		t.Errorf("%d entries, %d bytes", c.len(), c.size)
	}
	now = now.Add(minEviction)
	c.get(cacheKey{path: "aaaa"})
	add("dd")
	if diff := cmp.Diff([]string{"bbbb"}, removed); diff != "" || c.size != 3*answerCost+10 || c.get(b.key) != nil {
		t.Errorf("%d bytes %s", c.size, diff)
	}
	// Answers that are over go, and failures that are forgotten.
	e := c.get(cacheKey{path: "aaaa"})
	e.expires = now
	failing := c.get(cacheKey{path: "cccc"})
	was := failing.size()
	failing.expires, failing.err, failing.forget = now, fmt.Errorf("x"), now.Add(time.Second)
	c.changed(failing, was, now, gone)
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

// TestCacheKeepsTheLastUsed: an answer that is larger than the cache stays while it is the last that was used, as
// when the failure to look it up again is noted in it. The timer of a failure outlives its answer.
func TestCacheKeepsTheLastUsed(t *testing.T) {
	now := time.Unix(1000, 0)
	c := newCache()
	c.max = answerCost
	gone := func(*answer) {}
	woken := make(chan struct{})
	other := c.add(cacheKey{path: "other"}, now)
	other.wake = time.AfterFunc(time.Nanosecond, func() { close(woken) })
	c.size += wakeCost
	e := c.add(cacheKey{path: "used"}, now)
	now = now.Add(2 * minEviction)
	was := e.size()
	e.err = errors.New("a long text: " + strings.Repeat("x", answerCost))
	c.changed(e, was, now, gone)
	if c.len() != 1 || c.get(e.key) != e || c.size != e.size() {
		t.Errorf("%d answers, %d bytes", c.len(), c.size)
	}
	<-woken
}

// TestCacheCountsMemory: the size of a cache is what it takes, also where answers have hardly any text.
func TestCacheCountsMemory(t *testing.T) {
	if bits.UintSize == 32 {
		t.Skip("words of 32 bits take less than is counted")
	}
	now := time.Now()
	target := &child{target: "t"}
	for _, tt := range []struct {
		name string
		fill func(*answer)
	}{
		{"short", func(e *answer) { e.targets = []*child{target} }},
		{"targets", func(e *answer) {
			for range 100 {
				e.targets = append(e.targets, target)
			}
		}},
		{"header", func(e *answer) { e.header = strings.Repeat("x", 1<<10) }},
		{"failure", func(e *answer) {
			e.err = serviceError(errors.New("x"))
			e.wake = time.AfterFunc(time.Hour, func() { _ = e })
		}},
		{"long failure", func(e *answer) { e.err = serviceError(errors.New(strings.Repeat("x", 4<<10))) }},
	} {
		const n = 10_000
		c := newCache()
		c.max = 1 << 40
		var before, after runtime.MemStats
		runtime.GC()
		runtime.GC() // what pools keep goes with the second
		runtime.ReadMemStats(&before)
		for i := range n {
			e := c.add(cacheKey{path: "/s/m", keys: fmt.Sprint("k=", i)}, now)
			was := e.size()
			tt.fill(e)
			c.changed(e, was, now, func(*answer) {})
		}
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&after)
		held := int64(after.HeapAlloc) - int64(before.HeapAlloc)
		t.Logf("%s: %d bytes each, %d are counted", tt.name, held/n, c.size/n)
		if c.size < held*4/5 || c.size > held*3/2 {
			t.Errorf("%s: %d bytes are counted for %d", tt.name, c.size, held)
		}
		c.resetBackoff()
		c.clear(func(*answer) {})
		if c.size != 0 {
			t.Errorf("%s: %d bytes are left", tt.name, c.size)
		}
	}
}

// TestCacheBoundsTargets: answers go, the oldest first, where they name more targets than there may be.
func TestCacheBoundsTargets(t *testing.T) {
	now := time.Unix(1000, 0)
	b := &lb{cache: newCache(), children: make(map[string]*child)}
	b.cache.max = 1 << 40
	for i := range 3 * maxTargets / 100 {
		e := b.cache.add(cacheKey{path: fmt.Sprint(i)}, now)
		was := e.size()
		for j := range 100 {
			e.targets = append(e.targets, b.hold(fmt.Sprint(i, ".", j)))
		}
		b.cache.changed(e, was, now, b.release)
		b.collect()
		if most := maxTargets + 100; len(b.children) > most || len(b.children) != b.cache.targets {
			t.Fatalf("%d targets, %d are counted, at most %d", len(b.children), b.cache.targets, most)
		}
	}
	b.cache.clear(b.release)
	if dead := b.collect(); len(dead) < maxTargets-100 || len(b.children) != 0 || b.cache.targets != 0 || b.states != (lb{}).states {
		t.Errorf("%d end, %d are left, %d counted, in states %v", len(dead), len(b.children), b.cache.targets, b.states)
	}
}

// TestCacheKeepsAnswersWithoutTargets: where there are too many targets, to forget an answer that has none would help
// nobody. Of those with targets the one that was not used for longest goes.
func TestCacheKeepsAnswersWithoutTargets(t *testing.T) {
	now := time.Unix(1000, 0)
	b := &lb{cache: newCache(), children: make(map[string]*child)}
	b.cache.max = 1 << 40
	add := func(path string, targets int) *answer {
		e := b.cache.add(cacheKey{path: path}, now)
		was := e.size()
		for i := range targets {
			e.targets = append(e.targets, b.hold(fmt.Sprint(path, ".", i)))
		}
		b.cache.changed(e, was, now, b.release)
		b.collect()
		return e
	}
	const failures = 100
	for i := range failures {
		add(fmt.Sprint("failure", i), 0)
	}
	used, unused := add("used", maxTargets/2), add("unused", maxTargets/2)
	if now = now.Add(2 * minEviction); b.cache.get(used.key) != used || b.cache.crowded {
		t.Fatalf("an answer is gone, crowded %v", b.cache.crowded)
	}
	add("new", 1)
	for i := range failures {
		if b.cache.get(cacheKey{path: fmt.Sprint("failure", i)}) == nil {
			t.Fatalf("failure %d is gone", i)
		}
	}
	if b.cache.get(used.key) == nil || b.cache.get(unused.key) != nil || !b.cache.crowded || b.cache.targets != maxTargets/2+1 {
		t.Errorf("used stays %v, unused stays %v, crowded %v, %d targets",
			b.cache.get(used.key) != nil, b.cache.get(unused.key) != nil, b.cache.crowded, b.cache.targets)
	}
	// Where the memory is too much as well they go, too: whatever was not used for longest.
	now = now.Add(2 * minEviction)
	b.cache.resize(b.cache.size-1, now, b.release)
	if n := b.cache.len(); n != failures+1 || b.cache.get(cacheKey{path: "new"}) != nil {
		t.Errorf("%d answers are left", n)
	}
	b.cache.clear(b.release)
	if b.collect(); b.cache.routes.Len() != 0 || b.cache.targets != 0 || b.cache.size != 0 {
		t.Errorf("%d routes, %d targets, %d bytes are left", b.cache.routes.Len(), b.cache.targets, b.cache.size)
	}
}
