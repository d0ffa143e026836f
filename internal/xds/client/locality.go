// SPDX-License-Identifier: Apache-2.0

package client

import (
	"maps"
	"math"
	"sync"
	"sync/atomic"
)

// LocalityKey identifies a locality, and how its backend metrics are reported (A85).
type LocalityKey struct {
	Region, Zone, SubZone string
	// Metrics separates counters whose backend metrics are selected in different ways. It is not sent.
	Metrics string
}

// cost is how much of maxLocalities the locality uses, in bytes.
func (k *LocalityKey) cost() int {
	return len(k.Region) + len(k.Zone) + len(k.SubZone) + len(k.Metrics) + localityCost
}

// LocalityLoad counts the RPCs of one locality. The counters themselves are the cluster's: several LocalityLoad may
// count with the same ones, which are there only while there is something to report.
type LocalityLoad struct {
	cluster *ClusterLoad
	key     LocalityKey
	// counts are the counters that the last RPC began with, or nil. While an RPC is in progress that began
	// with l, they do not change: they are not closed, and no others are made for the key.
	counts atomic.Pointer[localityCounts]
}

// Locality returns what counts the RPCs of a locality.
func (c *ClusterLoad) Locality(key LocalityKey) *LocalityLoad {
	return &LocalityLoad{cluster: c, key: key}
}

// Started counts an RPC that starts.
func (l *LocalityLoad) Started() {
	if n := l.counts.Load(); n == nil || !n.start() {
		l.counts.Store(l.cluster.start(l.key))
	}
}

// start counts the start of an RPC, and returns the counters of its locality. Once the localities reach maxLocalities, those
// of new ones are in no report.
func (c *ClusterLoad) start(key LocalityKey) *localityCounts {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.localities[key]
	if n == nil {
		n = c.add(key)
	}
	n.start() // those in the map, and unreported, are not closed
	return n
}

// add makes the counters of a locality. c.mu is held.
func (c *ClusterLoad) add(key LocalityKey) *localityCounts {
	if c.places+key.cost() > maxLocalities {
		if c.unreported == nil {
			c.unreported = new(localityCounts)
		}
		return c.unreported
	}
	c.places += key.cost()
	if c.localities == nil {
		c.localities = make(map[LocalityKey]*localityCounts)
	}
	n := new(localityCounts)
	c.localities[key] = n
	return n
}

// Finished counts the end of an RPC that Started has counted.
func (l *LocalityLoad) Finished(failed bool) { l.counts.Load().finish(failed) }

// Withdrawn takes back what Started has counted: there was no RPC. It is called in place of Finished.
func (l *LocalityLoad) Withdrawn() { l.counts.Load().withdraw() }

// ReportTop adds the value of a backend metric that an RPC reported. It is called between Started and Finished for
// the RPC.
func (l *LocalityLoad) ReportTop(m TopMetric, value float64) { l.counts.Load().reportTop(m, value) }

// ReportNamed adds the value of a backend metric that an RPC reported, under its name in reports (A64, A85).
// Once the names reach maxNames, it ignores metrics with new names. It is called between Started and Finished for
// the RPC.
func (l *LocalityLoad) ReportNamed(name string, value float64) {
	l.counts.Load().reportNamed(name, value)
}

// localityCounts are the counters of a locality. They are closed, and removed from the cluster, by a report that
// finds nothing in them.
type localityCounts struct {
	issued, succeeded, failed atomic.Uint64
	active                    atomic.Int64 // RPCs in progress; below 0 when closed

	mu    sync.Mutex
	top   [topMetrics]metricSum
	named map[string]metricSum
	names int // how much of maxNames the names in named use
}

// closedCount is what active is set to by closing: starts that come too late do not bring it up to 0.
const closedCount = math.MinInt64 / 2

// maxNames limits the memory, in bytes, that the names of a locality's metrics use between two reports. A
// name counts as its length plus nameCost. There has to be a limit because backends choose the names, and
// hours may pass before the control plane asks for a report.
const (
	maxNames = 256 << 10
	nameCost = 64
)

// maxLocalities limits the memory, in bytes, that the localities of a cluster use until a report: the control plane may
// name others again and again, and never ask for a report. A locality counts as its names plus localityCost.
const (
	maxLocalities = 4 << 20
	localityCost  = 400
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

// start returns false if the counters are closed.
func (n *localityCounts) start() bool {
	if n.active.Add(1) <= 0 {
		n.active.Add(-1)
		return false
	}
	n.issued.Add(1)
	return true
}

// finish makes its change to active the last one: after that, the counters may be closed.
func (n *localityCounts) finish(failed bool) {
	if failed {
		n.failed.Add(1)
	} else {
		n.succeeded.Add(1)
	}
	n.active.Add(-1)
}

// withdraw undoes start. Its change to active is the last one, as in finish.
func (n *localityCounts) withdraw() {
	for issued := n.issued.Load(); issued > 0 && !n.issued.CompareAndSwap(issued, issued-1); { // if it is 0, a report has it
		issued = n.issued.Load()
	}
	n.active.Add(-1)
}

func (n *localityCounts) reportTop(m TopMetric, value float64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.top[m].add(value)
}

func (n *localityCounts) reportNamed(name string, value float64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.named == nil {
		n.named = make(map[string]metricSum)
	}
	sum, ok := n.named[name]
	if !ok {
		if n.names+len(name)+nameCost > maxNames {
			return
		}
		n.names += len(name) + nameCost
	}
	sum.add(value)
	n.named[name] = sum
}

type localityReport struct {
	LocalityKey
	issued, succeeded, failed, active uint64
	top                               [topMetrics]metricSum
	named                             map[string]metricSum
}

func (r *localityReport) isEmpty() bool {
	return r.issued+r.succeeded+r.failed+r.active == 0 && r.top == [topMetrics]metricSum{} && len(r.named) == 0
}

// take returns the counts and sets the counters to 0. If there is nothing to report it closes the counters.
func (n *localityCounts) take() (r localityReport, closed bool) {
	if r = n.collect(); r.isEmpty() {
		return n.close()
	}
	return r, false
}

// close closes the counters unless an RPC is in progress. It returns what was counted since collect.
func (n *localityCounts) close() (r localityReport, closed bool) {
	if !n.active.CompareAndSwap(0, closedCount) {
		return r, false
	}
	return n.collect(), true
}

func (n *localityCounts) collect() (r localityReport) {
	r.issued, r.succeeded, r.failed = n.issued.Swap(0), n.succeeded.Swap(0), n.failed.Swap(0)
	r.active = uint64(max(n.active.Load(), 0))
	n.mu.Lock()
	defer n.mu.Unlock()
	r.top, r.named = n.top, maps.Clone(n.named)
	n.top, n.names = [topMetrics]metricSum{}, 0
	clear(n.named)
	return r
}
