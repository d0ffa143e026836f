// SPDX-License-Identifier: Apache-2.0

package client

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Loads has the counters for the load reports to one control plane. It is safe for concurrent use. The
// methods that are called for each RPC use atomic counters.
type Loads struct {
	mu       sync.Mutex
	clusters map[loadKey]*ClusterLoad
}

type loadKey struct{ cluster, service string }

// Cluster returns the counters of a cluster. service is the name of its EDS resource if that is not the
// cluster's name. The counters remain in use until release is called; what they have counted until then is
// still reported.
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
	}
	c.users++
	return c, sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		c.users--
	})
}

// ClusterLoad has the counters of one cluster.
type ClusterLoad struct {
	users int       // guarded by Loads.mu
	since time.Time // guarded by Loads.mu

	uncategorized atomic.Uint64
	drops         sync.Map // of *atomic.Uint64, by category
	localities    sync.Map // of *LocalityLoad, by LocalityKey
}

// LocalityKey identifies a locality, and how its backend metrics are reported (A85).
type LocalityKey struct {
	Region, Zone, SubZone string
	// Metrics separates counters whose backend metrics are selected in different ways. It is not sent.
	Metrics string
}

// Dropped counts an RPC that was dropped. The category is empty if the circuit breaker dropped it.
func (c *ClusterLoad) Dropped(category string) {
	if category == "" {
		c.uncategorized.Add(1)
		return
	}
	n, ok := c.drops.Load(category)
	if !ok {
		n, _ = c.drops.LoadOrStore(category, new(atomic.Uint64))
	}
	n.(*atomic.Uint64).Add(1)
}

// Locality returns the counters of a locality.
func (c *ClusterLoad) Locality(key LocalityKey) *LocalityLoad {
	l, ok := c.localities.Load(key)
	if !ok {
		l, _ = c.localities.LoadOrStore(key, new(LocalityLoad))
	}
	return l.(*LocalityLoad)
}

// LocalityLoad has the counters of one locality.
type LocalityLoad struct {
	issued, succeeded, failed atomic.Uint64
	active                    atomic.Int64

	mu    sync.Mutex
	top   [topMetrics]metricSum
	named map[string]metricSum
	names int // how much of maxNames the names in named use
}

// maxNames limits the memory, in bytes, that the names of a locality's metrics use between two reports. A
// name counts as its length plus nameCost. There has to be a limit because backends choose the names, and
// hours may pass before the control plane asks for a report.
const (
	maxNames = 256 << 10
	nameCost = 64
)

// TopMetric is a backend metric that has its own field in reports (A85).
type TopMetric int

// The metrics that have their own fields.
const (
	CPU TopMetric = iota
	Memory
	Application
	topMetrics
)

type metricSum struct {
	count uint64
	total float64
}

func (m *metricSum) add(v float64) {
	m.count++
	m.total += v
}

// Started counts an RPC that starts.
func (l *LocalityLoad) Started() {
	l.issued.Add(1)
	l.active.Add(1)
}

// Finished counts the end of an RPC that Started has counted.
func (l *LocalityLoad) Finished(failed bool) {
	l.active.Add(-1)
	if failed {
		l.failed.Add(1)
	} else {
		l.succeeded.Add(1)
	}
}

// ReportTop adds the value of a backend metric that an RPC reported.
func (l *LocalityLoad) ReportTop(m TopMetric, value float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.top[m].add(value)
}

// ReportNamed adds the value of a backend metric that an RPC reported, under its name in reports (A64, A85).
// Once the names reach maxNames, it ignores metrics with new names.
func (l *LocalityLoad) ReportNamed(name string, value float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.named == nil {
		l.named = make(map[string]metricSum)
	}
	sum, ok := l.named[name]
	if !ok {
		if l.names+len(name)+nameCost > maxNames {
			return
		}
		l.names += len(name) + nameCost
	}
	sum.add(value)
	l.named[name] = sum
}

// clusterReport is what has been counted for a cluster since the last report.
type clusterReport struct {
	loadKey
	interval   time.Duration
	dropped    uint64 // in all categories and without one
	drops      map[string]uint64
	localities []localityReport
}

type localityReport struct {
	LocalityKey
	issued, succeeded, failed, active uint64
	top                               [topMetrics]metricSum
	named                             map[string]metricSum
}

// take returns the counts of the named clusters, or of all if names is nil, and sets the counters to 0. names
// must be sorted: a control plane may name very many clusters, and may ask for a report every 100 ms, so
// lookups have to be fast. A cluster with nothing to report is left out, and removed if nothing counts for it
// any more.
func (l *Loads) take(names []string) []clusterReport {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []clusterReport
	now := time.Now()
	for key, c := range l.clusters {
		if _, wanted := slices.BinarySearch(names, key.cluster); names != nil && !wanted {
			continue
		}
		r := c.take()
		r.loadKey, r.interval = key, now.Sub(c.since)
		c.since = now
		if r.dropped > 0 || len(r.localities) > 0 {
			out = append(out, r)
		} else if c.users == 0 {
			delete(l.clusters, key)
		}
	}
	return out
}

func (c *ClusterLoad) take() (r clusterReport) {
	r.dropped = c.uncategorized.Swap(0)
	c.drops.Range(func(category, n any) bool {
		if v := n.(*atomic.Uint64).Swap(0); v > 0 {
			if r.drops == nil {
				r.drops = make(map[string]uint64)
			}
			r.drops[category.(string)] = v
			r.dropped += v
		}
		return true
	})
	c.localities.Range(func(key, v any) bool {
		if report, any := v.(*LocalityLoad).take(); any {
			report.LocalityKey = key.(LocalityKey)
			r.localities = append(r.localities, report)
		}
		return true
	})
	return r
}

func (l *LocalityLoad) take() (r localityReport, any bool) {
	r.issued, r.succeeded, r.failed = l.issued.Swap(0), l.succeeded.Swap(0), l.failed.Swap(0)
	r.active = uint64(max(l.active.Load(), 0))
	l.mu.Lock()
	defer l.mu.Unlock()
	r.top, r.named = l.top, maps.Clone(l.named)
	l.top, l.names = [topMetrics]metricSum{}, 0
	clear(l.named)
	return r, r.issued+r.succeeded+r.failed+r.active > 0
}
