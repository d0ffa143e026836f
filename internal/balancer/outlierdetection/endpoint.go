// SPDX-License-Identifier: Apache-2.0

package outlierdetection

import (
	"math"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/internal/balancer/done"
	"google.golang.org/grpc/resolver"
)

// endpoint is the state of one endpoint.
type endpoint struct {
	addresses []string // sorted
	done      func(balancer.DoneInfo)

	// These count RPCs of the current interval.
	succeeded, failed atomic.Uint64
	ejected           atomic.Bool // set with policy.mu held

	// Guarded by policy.mu.
	ok, all    uint64 // successful and all RPCs of the previous interval
	since      time.Time
	multiplier int
}

func newEndpoint(addrs []resolver.Address) *endpoint {
	e := &endpoint{addresses: names(addrs)}
	e.done = e.count
	return e
}

func names(addrs []resolver.Address) []string {
	list := make([]string, len(addrs))
	for i, a := range addrs {
		list[i] = a.Addr
	}
	slices.Sort(list)
	return list
}

func (e *endpoint) has(addrs []resolver.Address) bool {
	if len(addrs) == 1 && len(e.addresses) == 1 {
		return addrs[0].Addr == e.addresses[0]
	}
	return slices.Equal(e.addresses, names(addrs))
}

// count counts the end of an RPC.
func (e *endpoint) count(i balancer.DoneInfo) {
	switch {
	case done.WasUnused(i):
	case i.Err == nil:
		e.succeeded.Add(1)
	default:
		e.failed.Add(1)
	}
}

// swap begins a new interval.
func (e *endpoint) swap() {
	e.ok = e.succeeded.Swap(0)
	e.all = e.ok + e.failed.Swap(0)
}

// rate returns the share of successful RPCs in the previous interval.
func (e *endpoint) rate() float64 { return float64(e.ok) / float64(e.all) }

// over reports whether the endpoint has been ejected for long enough.
func (e *endpoint) over(now time.Time, c *Config) bool {
	most := max(c.BaseEjectionTime, c.MaxEjectionTime)
	d := most
	if e.multiplier == 0 || c.BaseEjectionTime <= most/time.Duration(e.multiplier) {
		d = min(c.BaseEjectionTime*time.Duration(e.multiplier), most)
	}
	return now.After(e.since.Add(d))
}

// busy returns the endpoints that had at least volume RPCs in the previous interval, or nil if
// these are fewer than hosts.
func busy(all []*endpoint, volume, hosts uint32) []*endpoint {
	var list []*endpoint
	for _, e := range all {
		if e.all >= uint64(volume) && e.all > 0 {
			list = append(list, e)
		}
	}
	if uint64(len(list)) < uint64(hosts) {
		return nil
	}
	return list
}

// rounding is more than the error of meanAndDeviation, which could make outliers of endpoints that are all the
// same, and less than any difference between rates that matters.
const rounding = 1e-9

// meanAndDeviation returns the mean and the standard deviation of the endpoints' rates. list must
// not be empty.
func meanAndDeviation(list []*endpoint) (mean, deviation float64) {
	n := float64(len(list))
	for _, e := range list {
		mean += e.rate() / n
	}
	for _, e := range list {
		d := e.rate() - mean
		deviation += d * d / n
	}
	return mean, math.Sqrt(deviation)
}

// outliers calls found for each outlier until found returns false.
func (s *SuccessRate) outliers(all []*endpoint, found func(*endpoint) bool) {
	list := busy(all, s.RequestVolume, s.MinimumHosts)
	if len(list) == 0 {
		return
	}
	mean, deviation := meanAndDeviation(list)
	required := mean - deviation*float64(s.StdevFactor)/1000 - rounding
	for _, e := range list {
		if e.rate() < required && !found(e) {
			return
		}
	}
}

func (f *FailurePercentage) outliers(all []*endpoint, found func(*endpoint) bool) {
	for _, e := range busy(all, f.RequestVolume, f.MinimumHosts) {
		if 100*(e.all-e.ok) > uint64(f.Threshold)*e.all && !found(e) { // in integers: A50 ejects none that is at the threshold
			return
		}
	}
}
