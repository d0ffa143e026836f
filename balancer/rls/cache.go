// SPDX-License-Identifier: Apache-2.0

package rls

import (
	"container/list"
	"time"
)

// minEviction is how long an answer stays in the cache at least, even if the cache is above its
// maximum size.
const minEviction = 5 * time.Second

func (e *answer) valid(now time.Time) bool   { return now.Before(e.expires) }
func (e *answer) backing(now time.Time) bool { return e.err != nil && now.Before(e.retryAt) }

// useless reports whether removing e changes nothing for RPCs.
func (e *answer) useless(now time.Time) bool {
	return !e.valid(now) && (e.err == nil || !now.Before(e.forget))
}

// These are bytes that an answer takes in addition to its strings: answerCost for the answer itself and
// its entries in the map and the lists, placeCost for each target, and wakeCost for the timer after a
// failure.
const (
	answerCost = 432
	placeCost  = 8
	wakeCost   = 192
)

// maxTargets is how many different targets all answers together may name; above that, answers are removed even if
// they are new. Each target has a policy of its own, with connections, and so takes far more memory than the size
// of an answer says. maxListed is how many targets of one answer are used: the best come first.
const (
	maxTargets = 5000
	maxListed  = 1000
)

// size returns roughly the memory that e takes, in bytes.
func (e *answer) size() int64 {
	n := answerCost + len(e.key.path) + len(e.key.keys) + len(e.header)
	for _, c := range e.targets {
		n += placeCost + len(c.target)
	}
	if e.err != nil {
		n += len(e.err.Error())
	}
	if e.wake != nil {
		n += wakeCost
	}
	return int64(n)
}

func newCache() *cache {
	return &cache{answers: make(map[cacheKey]*answer), order: list.New(), routes: list.New()}
}

func (c *cache) len() int { return len(c.answers) }

// get returns the answer for a key and makes it the most recently used one. It returns nil if there
// is none.
func (c *cache) get(key cacheKey) *answer {
	e := c.answers[key]
	if e != nil {
		c.order.MoveToFront(e.element)
		if e.route != nil {
			c.routes.MoveToFront(e.route)
		}
	}
	return e
}

// add adds an empty answer.
func (c *cache) add(key cacheKey, now time.Time) *answer {
	e := &answer{key: key, created: now}
	e.element = c.order.PushFront(e)
	c.answers[key] = e
	c.size += e.size()
	return e
}

// changed updates the cache after a change of e. was is the size that e had before. Other answers
// may be removed to make room for e.
func (c *cache) changed(e *answer, was int64, now time.Time, removed func(*answer)) {
	c.size += e.size() - was
	if e.route == nil && len(e.targets) > 0 {
		e.route = c.routes.PushFront(e)
	}
	c.shrink(now, removed)
}

func (c *cache) resize(size int64, now time.Time, removed func(*answer)) {
	c.max = size
	c.shrink(now, removed)
}

// shrink removes the least recently used answers: answers with targets while there are too many targets, and
// any answers while they take too much memory. The most recently used answer stays, as RPCs, or the lookup
// that has just changed it, are about to use it.
func (c *cache) shrink(now time.Time, removed func(*answer)) {
	for c.targets > maxTargets {
		e := c.oldest(c.routes)
		if e == nil {
			break
		}
		c.crowded = true
		c.remove(e, removed)
	}
	for c.size > c.max {
		e := c.oldest(c.order)
		if e == nil || now.Sub(e.created) < minEviction {
			break
		}
		c.remove(e, removed)
	}
}

// oldest returns the least recently used answer in a list, or nil if that is also the most recently
// used answer of the cache.
func (c *cache) oldest(order *list.List) *answer {
	last := order.Back()
	if last == nil || last.Value == c.order.Front().Value {
		return nil
	}
	return last.Value.(*answer)
}

// purge removes answers that are of no more use.
func (c *cache) purge(now time.Time, removed func(*answer)) {
	for _, e := range c.answers {
		if e.useless(now) {
			c.remove(e, removed)
		}
	}
}

func (c *cache) clear(removed func(*answer)) {
	for _, e := range c.answers {
		if e.wake != nil {
			e.wake.Stop()
		}
		c.remove(e, removed)
	}
}

// remove removes an answer. It does not stop the timer after a failure, as RPCs may wait for it.
func (c *cache) remove(e *answer, removed func(*answer)) {
	c.size -= e.size()
	c.order.Remove(e.element)
	if e.route != nil {
		c.routes.Remove(e.route)
	}
	delete(c.answers, e.key)
	removed(e)
}

// resetBackoff forgets all failures, so that every key may be looked up again.
func (c *cache) resetBackoff() {
	for _, e := range c.answers {
		was := e.size()
		e.failures, e.err, e.retryAt, e.forget = 0, nil, time.Time{}, time.Time{}
		if e.wake != nil {
			e.wake.Stop()
			e.wake = nil
		}
		c.size += e.size() - was
	}
}
