// SPDX-License-Identifier: Apache-2.0

package rls

import (
	"container/list"
	"time"
)

// minEviction is how long an answer stays at least, whatever room it takes.
const minEviction = 5 * time.Second

func (e *answer) valid(now time.Time) bool   { return now.Before(e.expires) }
func (e *answer) backing(now time.Time) bool { return e.err != nil && now.Before(e.retryAt) }

// useless says whether nothing is lost with e.
func (e *answer) useless(now time.Time) bool {
	return !e.valid(now) && (e.err == nil || !now.Before(e.forget))
}

// What an answer takes beside its texts: itself with its places in the map and in the orders, the place of
// each target, and the timer of a failure.
const (
	answerCost = 432
	placeCost  = 8
	wakeCost   = 192
)

// maxTargets is how many targets answers name together before some have to go, also those that are new. Each has a
// policy of its own, with connections, and so takes far more than it counts for in the size of an answer. maxListed
// is how many of one answer are looked at: the best come first.
const (
	maxTargets = 5000
	maxListed  = 1000
)

// size is roughly the memory that e takes.
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

// get returns an answer, which counts as its use; nil if there is none.
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

// add makes an empty answer.
func (c *cache) add(key cacheKey, now time.Time) *answer {
	e := &answer{key: key, created: now}
	e.element = c.order.PushFront(e)
	c.answers[key] = e
	c.size += e.size()
	return e
}

// changed is called with the size that e had. Others may have to go for it.
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

// shrink removes answers that were not used for long: any where they take too much memory, those with targets
// where there are too many of these. The one that was used last stays: its RPCs, or the lookup that has just
// changed it, go on with it.
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

// oldest returns the last answer of an order, nil if that is the one that was used last.
func (c *cache) oldest(order *list.List) *answer {
	last := order.Back()
	if last == nil || last.Value == c.order.Front().Value {
		return nil
	}
	return last.Value.(*answer)
}

// purge removes what is of no more use.
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

// remove leaves the timer of a failure alone: RPCs may wait for it.
func (c *cache) remove(e *answer, removed func(*answer)) {
	c.size -= e.size()
	c.order.Remove(e.element)
	if e.route != nil {
		c.routes.Remove(e.route)
	}
	delete(c.answers, e.key)
	removed(e)
}

// resetBackoff lets everything be asked for again.
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
