// SPDX-License-Identifier: Apache-2.0

package client

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Loads has the counters for the load reports to one control plane. It is safe for concurrent use. The
// methods that are called for each RPC use atomic counters. It holds what is in use, and what was counted
// since the last report: the control plane may change the names of everything again and again.
type Loads struct {
	mu       sync.Mutex
	clusters map[loadKey]*ClusterLoad
	released int // how many of clusters have no users
}

// maxReleased limits the clusters that are kept for the next report although nobody counts for them any more: perhaps
// the control plane does not ask for reports.
const maxReleased = 1000

type loadKey struct{ cluster, service string }

// Cluster returns the counters of a cluster. service is the name of its EDS resource if that is not the
// cluster's name. The counters remain in use until release is called; what they have counted until then is
// still reported, for up to maxReleased clusters.
func (l *Loads) Cluster(cluster, service string) (load *ClusterLoad, release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := loadKey{cluster, service}
	c := l.clusters[key]
	if c == nil {
		if l.clusters == nil {
			l.clusters = make(map[loadKey]*ClusterLoad)
		}
		c = &ClusterLoad{since: time.Now()}
		l.clusters[key] = c
	} else if c.users == 0 {
		l.released--
	}
	c.users++
	return c, sync.OnceFunc(func() { l.release(key, c) })
}

func (l *Loads) release(key loadKey, c *ClusterLoad) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.users--; c.users > 0 {
		return
	}
	if l.released == maxReleased || c.isEmpty() {
		delete(l.clusters, key)
		return
	}
	l.released++
}

// ClusterLoad has the counters of one cluster.
type ClusterLoad struct {
	users int       // guarded by Loads.mu
	since time.Time // guarded by Loads.mu

	uncategorized atomic.Uint64

	mu         sync.RWMutex
	drops      map[string]*atomic.Uint64 // by category
	categories int                       // how much of maxNames these use
	localities map[LocalityKey]*localityCounts
	places     int             // how much of maxLocalities these use
	unreported *localityCounts // of all for which maxLocalities leaves no place; nil: there are none
}

// Dropped counts an RPC that was dropped. The category is empty if the circuit breaker dropped it.
func (c *ClusterLoad) Dropped(category string) {
	if category == "" {
		c.uncategorized.Add(1)
		return
	}
	c.mu.RLock()
	n := c.drops[category]
	if n != nil {
		n.Add(1)
	}
	c.mu.RUnlock()
	if n == nil {
		c.droppedFirst(category)
	}
}

// droppedFirst is Dropped for the first RPC of a category since the last report. Once the categories reach maxNames, it
// counts RPCs of new ones as dropped without a category.
func (c *ClusterLoad) droppedFirst(category string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.drops[category]
	if n == nil {
		if c.categories+len(category)+nameCost > maxNames {
			c.uncategorized.Add(1)
			return
		}
		c.categories += len(category) + nameCost
		if c.drops == nil {
			c.drops = make(map[string]*atomic.Uint64)
		}
		n = new(atomic.Uint64)
		c.drops[category] = n
	}
	n.Add(1)
}

// clusterReport is what has been counted for a cluster since the last report.
type clusterReport struct {
	loadKey
	interval   time.Duration
	dropped    uint64 // in all categories and without one
	drops      map[string]uint64
	localities []localityReport
}

// take returns the counts of the named clusters, or of all if names is nil, and sets the counters to 0. names
// must be sorted: a control plane may name very many clusters, and may ask for a report every 100 ms, so
// lookups have to be fast. A cluster with nothing to report is left out, and removed if nothing counts for it
// any more. A cluster that is not named keeps its counts while it is in use.
func (l *Loads) take(names []string) []clusterReport {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []clusterReport
	now := time.Now()
	for key, c := range l.clusters {
		_, wanted := slices.BinarySearch(names, key.cluster)
		if wanted = wanted || names == nil; !wanted && c.users > 0 {
			continue
		}
		r := c.take()
		r.loadKey, r.interval = key, now.Sub(c.since)
		c.since = now
		switch {
		case wanted && !r.isEmpty():
			out = append(out, r)
		case c.users == 0 && !r.isActive():
			delete(l.clusters, key)
			l.released--
		}
	}
	return out
}

func (r *clusterReport) isEmpty() bool { return r.dropped == 0 && len(r.localities) == 0 }

// isActive reports whether RPCs are in progress.
func (r *clusterReport) isActive() bool {
	return slices.ContainsFunc(r.localities, func(l localityReport) bool { return l.active > 0 })
}

// isEmpty reports whether nothing was counted since the last report.
func (c *ClusterLoad) isEmpty() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.uncategorized.Load() == 0 && len(c.drops) == 0 && len(c.localities) == 0
}

func (c *ClusterLoad) take() (r clusterReport) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.dropped = c.uncategorized.Swap(0)
	if len(c.drops) > 0 {
		r.drops = make(map[string]uint64, len(c.drops))
	}
	for category, n := range c.drops {
		r.drops[category] = n.Load()
		r.dropped += r.drops[category]
	}
	c.drops, c.categories = nil, 0
	if c.unreported != nil {
		if _, closed := c.unreported.take(); closed { // then localities ask anew for counters
			c.unreported = nil
		}
	}
	for key, n := range c.localities {
		report, closed := n.take()
		if !report.isEmpty() {
			report.LocalityKey = key
			r.localities = append(r.localities, report)
		}
		if closed {
			delete(c.localities, key)
			c.places -= key.cost()
		}
	}
	return r
}
