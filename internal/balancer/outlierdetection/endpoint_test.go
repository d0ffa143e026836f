// SPDX-License-Identifier: Apache-2.0

package outlierdetection

import (
	"errors"
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/internal/balancer/done"
)

// outliersOf returns how many outliers a method finds.
func outliersOf(list []*endpoint, search func([]*endpoint, func(*endpoint) bool)) (n int) {
	search(list, func(*endpoint) bool { n++; return true })
	return n
}

// TestA50AtTheThreshold: "if the address's failure percentage is greater than" the threshold, and not if it is equal.
func TestA50AtTheThreshold(t *testing.T) {
	for all := uint64(1); all <= 2000; all++ {
		for threshold := uint32(0); threshold <= 100; threshold++ {
			f := &FailurePercentage{Threshold: threshold, MinimumHosts: 1}
			most := uint64(threshold) * all / 100 // as many may fail
			if n := outliersOf([]*endpoint{{ok: all - most, all: all}}, f.outliers); n != 0 {
				t.Errorf("%d of %d failed, which is not above %d%%, and the endpoint is ejected", most, all, threshold)
			}
			if most == all {
				continue
			}
			if n := outliersOf([]*endpoint{{ok: all - most - 1, all: all}}, f.outliers); n != 1 {
				t.Errorf("%d of %d failed, which is above %d%%, and the endpoint is not ejected", most+1, all, threshold)
			}
		}
	}
	f := &FailurePercentage{Threshold: 100}
	if n := outliersOf([]*endpoint{{all: 1 << 40}}, f.outliers); n != 0 {
		t.Error("an endpoint is above 100%")
	}
}

// TestA50Equals: endpoints that are all the same have no outlier, whatever sums are rounded to.
func TestA50Equals(t *testing.T) {
	for _, factor := range []uint32{0, 100, 500, 1000, 1900} {
		s := &SuccessRate{StdevFactor: factor, MinimumHosts: 1}
		for hosts := 1; hosts <= 50; hosts++ {
			for ok := range uint64(101) {
				var list []*endpoint
				for range hosts {
					list = append(list, &endpoint{ok: ok, all: 100})
				}
				if n := outliersOf(list, s.outliers); n != 0 {
					t.Fatalf("factor %d: %d of %d endpoints with %d%% are outliers", factor, n, hosts, ok)
				}
			}
		}
		list := []*endpoint{{ok: 99_999, all: 100_000}}
		for range 9 {
			list = append(list, &endpoint{ok: 1, all: 1})
		}
		if n := outliersOf(list, s.outliers); n != 1 {
			t.Errorf("factor %d: %d outliers", factor, n)
		}
	}
}

// TestUnusedPickIsNotCounted: a pick whose SubConn had no connection, or lost it before the RPC was sent, is no RPC:
// no success and no failure.
func TestUnusedPickIsNotCounted(t *testing.T) {
	e := newEndpoint(nil)
	e.done(balancer.DoneInfo{})
	e.done(balancer.DoneInfo{Err: done.Lost(errors.New("the connection"))})
	if e.swap(); e.ok != 0 || e.all != 0 {
		t.Errorf("%d of %d succeeded", e.ok, e.all)
	}
	e.done(balancer.DoneInfo{BytesSent: true})
	e.done(balancer.DoneInfo{Err: errors.New("the deadline")})
	if e.swap(); e.ok != 1 || e.all != 2 {
		t.Errorf("%d of %d succeeded", e.ok, e.all)
	}
}
