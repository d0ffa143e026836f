// SPDX-License-Identifier: Apache-2.0

package resolver

import (
	"maps"

	"google.golang.org/grpc/internal/xds/dependency"
	"google.golang.org/grpc/resolver"
)

// ResolveNow implements resolver.Resolver. It looks up the names of logical DNS clusters
// again (A74).
func (r *Resolver) ResolveNow(o resolver.ResolveNowOptions) { r.manager.ResolveNow(o) }

// Close implements resolver.Resolver.
func (r *Resolver) Close() {
	r.closed.Store(true)
	r.manager.Close()
	r.work.Do(r.memory.Close) // after the update that is being processed, if any
	r.work.Close()
	r.release()
}

// Update implements dependency.Watcher.
func (r *Resolver) Update(c *dependency.Config, err error) {
	r.work.Do(func() {
		if r.closed.Load() {
			return
		}
		if err != nil {
			if c != nil && r.hasHeld(c) {
				r.config = c
			}
			r.fail(err)
			return
		}
		c = r.withHeld(c)
		r.config = c
		if s, ok := r.selector.(*routing); ok && s.fits(c) {
			r.send()
			return
		}
		r.use(newRouting(r, c))
	})
}

// withHeld returns c with all clusters that are watched for RPCs, from the last Config if need be: c may be older than a
// subscription.
func (r *Resolver) withHeld(c *dependency.Config) *dependency.Config {
	if r.config == nil || r.hasHeld(c) {
		return c
	}
	whole := *c
	whole.Clusters = maps.Clone(c.Clusters)
	for _, held := range r.clusters {
		if before := r.config.Clusters[held.watched]; before != nil && whole.Clusters[held.watched] == nil {
			whole.Clusters[held.watched] = before
		}
	}
	return &whole
}

// hasHeld reports whether c has all clusters that are watched for RPCs. One to which the subscription has just begun comes
// next.
func (r *Resolver) hasHeld(c *dependency.Config) bool {
	for _, held := range r.clusters {
		if _, has := c.Clusters[held.watched]; held.watched != "" && !has {
			return false
		}
	}
	return true
}

// fail makes new RPCs fail until there is a usable configuration again. RPCs that have begun
// keep their clusters.
func (r *Resolver) fail(err error) {
	err = r.annotate(err)
	over := make(chan struct{})
	if f, ok := r.selector.(*failing); ok {
		if f.err.Error() == err.Error() {
			r.send() // the news is about a cluster of RPCs that have begun
			return
		}
		over = f.over
	}
	logger.Warningf("%v", err)
	r.use(&failing{err, over})
}

// use makes s the channel's selector, and releases the clusters that only the selector before
// needed.
func (r *Resolver) use(s holder) {
	before, _ := r.selector.(holder)
	r.selector = s
	defer r.leave(before, s) // after the channel has the next one, and also if its balancer ends this goroutine
	r.send()
}

// leave gives up the selector before s.
func (r *Resolver) leave(before, s holder) {
	if f, ok := before.(*failing); ok {
		if _, still := s.(*failing); !still {
			close(f.over)
		}
	}
	if before == nil {
		return
	}
	for _, c := range before.held() {
		c.users.Add(-1)
	}
	r.clear()
}
