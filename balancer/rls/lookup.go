// SPDX-License-Identifier: Apache-2.0

package rls

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	lookuppb "google.golang.org/grpc/internal/proto/grpc_lookup_v1"
)

// wakeDelay is how long RPCs may wait beyond the end of a back-off.
const wakeDelay = 10 * time.Millisecond

var errThrottled = errors.New("RLS call throttled at client side")

// throttledPause is how long RPCs that wait for ready wait after the throttle has refused a lookup.
const throttledPause = time.Second

// request starts a lookup and returns true. It returns false if the throttle refuses the lookup, because too many
// fail. Nothing is noted of one that is refused: there may be any number of them, of as many keys. The caller must hold mu.
func (b *lb) request(key cacheKey, keys []rpcKey, e *answer) (begun bool) {
	now := time.Now()
	if !b.throttle.allow(now, rand.Float64()) {
		if !b.throttled {
			b.throttled = true
			time.AfterFunc(throttledPause, b.afterThrottle)
		}
		return false
	}
	reason, header := lookuppb.RouteLookupRequest_REASON_MISS, ""
	if e != nil && e.valid(now) {
		reason, header = lookuppb.RouteLookupRequest_REASON_STALE, e.header
	}
	b.pending[key] = struct{}{}
	service := b.service
	b.tasks.Go(func() {
		out, err := service.lookup(key, keys, reason, header)
		b.answered(service, key, out, err)
	})
	return true
}

// afterThrottle makes RPCs that wait pick again.
func (b *lb) afterThrottle() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.throttled = false
	b.publish()
}

// answered handles the result of a lookup.
func (b *lb) answered(s *service, key cacheKey, out *lookuppb.RouteLookupResponse, err error) {
	b.mu.Lock()
	delete(b.pending, key)
	if b.closed {
		b.mu.Unlock()
		return
	}
	now := time.Now()
	if s == b.service {
		b.throttle.done(now, err == nil)
	}
	var fresh []*child
	switch {
	case err == nil:
		fresh = b.succeeded(key, out, now)
	case s == b.service: // a failure of an earlier service's lookup does not count
		b.failed(key, err, now)
	}
	dead := b.collect()
	// All RPCs that wait pick again, though most wait for other answers. Nothing is gained by waiting for more
	// answers: if they come faster than RPCs pick, RPCs pick once for several of them.
	b.publish()
	warning := b.warning(len(out.GetTargets()))
	b.mu.Unlock()
	if warning != "" {
		logger.Warning(warning)
	}
	closeAll(dead)
	for _, c := range fresh {
		if err := b.tell(c); err != nil {
			logger.Warningf("the child policy of target %q: %v", c.target, err)
		}
	}
}

// warning returns a warning to log after an answer with listed targets, or "". It warns the first time that a limit on
// targets is exceeded. The caller must hold mu.
func (b *lb) warning(listed int) string {
	switch {
	case b.warned:
		return ""
	case listed > maxListed:
		b.warned = true
		return fmt.Sprintf("%q: an answer of the route lookup service names %d targets; of each answer %d are used",
			b.opts.Target.String(), listed, maxListed)
	case b.cache.crowded:
		b.warned = true
		return fmt.Sprintf("%q: the route lookup service names more than %d targets; the answers that were not used for longest are forgotten",
			b.opts.Target.String(), maxTargets)
	}
	return ""
}

// succeeded stores a response, and returns the children that it has made for new targets. The
// caller must hold mu.
func (b *lb) succeeded(key cacheKey, out *lookuppb.RouteLookupResponse, now time.Time) (fresh []*child) {
	e := b.entry(key, now)
	was := e.size()
	old := answer{targets: e.targets}
	listed := out.GetTargets()[:min(len(out.GetTargets()), maxListed)]
	e.targets = make([]*child, 0, len(listed))
	for _, target := range listed {
		known := b.children[target] != nil
		c := b.hold(target)
		e.targets = append(e.targets, c)
		if !known {
			fresh = append(fresh, c)
		}
	}
	b.release(&old)
	e.header = sendable(out.GetHeaderData())
	e.expires = now.Add(b.config.maxAge)
	e.stale = e.expires
	if b.config.staleAge > 0 {
		e.stale = now.Add(b.config.staleAge)
	}
	e.failures, e.err, e.retryAt, e.forget = 0, nil, time.Time{}, time.Time{}
	if e.wake != nil {
		e.wake.Stop()
		e.wake = nil
	}
	b.cache.changed(e, was, now, b.release)
	return fresh
}

// failed stores a failure. Until the back-off ends, RPCs with the key use an answer that is still
// valid, or the default target, or fail. The caller must hold mu.
func (b *lb) failed(key cacheKey, err error, now time.Time) {
	e := b.entry(key, now)
	was := e.size()
	pause := b.backoff.Backoff(e.failures)
	e.failures++
	e.err = serviceError(err)
	e.retryAt, e.forget = now.Add(pause), now.Add(2*pause)
	if e.wake != nil {
		e.wake.Stop()
	}
	// When the back-off ends, RPCs that wait for ready pick again.
	e.wake = time.AfterFunc(pause, b.wakeSoon)
	b.cache.changed(e, was, now, b.release)
}

// wakeSoon makes RPCs that wait pick again after wakeDelay, together with those whose back-off ends meanwhile.
func (b *lb) wakeSoon() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waking || b.closed {
		return
	}
	b.waking = true
	time.AfterFunc(wakeDelay, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.waking = false
		b.publish()
	})
}

// entry returns the answer for a key. It adds an empty one if there is none. The caller must hold
// mu.
func (b *lb) entry(key cacheKey, now time.Time) *answer {
	e := b.cache.get(key)
	if e == nil {
		e = b.cache.add(key, now)
		b.cache.shrink(now, b.release)
		b.schedulePurge()
	}
	return e
}

// serviceIsBack forgets all failures and makes RPCs that wait pick again.
func (b *lb) serviceIsBack(s *service) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s == b.service && !b.closed {
		b.cache.resetBackoff()
		b.publish()
	}
}

// sendable returns header data, or "" if metadata can't carry it: each RPC with the key would fail.
func sendable(header string) string {
	if strings.ContainsFunc(header, func(r rune) bool { return r < ' ' || r > '~' }) {
		return ""
	}
	return header
}

// lookup sends one request, with the configuration's timeout.
func (s *service) lookup(key cacheKey, keys []rpcKey, reason lookuppb.RouteLookupRequest_Reason, header string) (*lookuppb.RouteLookupResponse, error) {
	if s.cc == nil {
		return nil, s.err
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.config.timeout)
	defer cancel()
	out, err := lookuppb.NewRouteLookupServiceClient(s.cc).RouteLookup(ctx, &lookuppb.RouteLookupRequest{
		TargetType: "grpc", KeyMap: keyMap(keys), Reason: reason, StaleHeaderData: header,
	})
	if err == nil && len(out.GetTargets()) == 0 {
		err = fmt.Errorf("RLS response's target list does not contain any entries for keys {%s}", key.keys)
	}
	return out, err
}
