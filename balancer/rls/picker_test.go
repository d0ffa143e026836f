// SPDX-License-Identifier: Apache-2.0

package rls

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/lbtest"
	lookuppb "google.golang.org/grpc/internal/proto/grpc_lookup_v1"
)

// closing builds policies that say CONNECTING, and count how many of them are closed. Close waits for may.
type closing struct {
	quiet
	closed *int
	may    chan struct{}
}

func (c closing) Build(cc balancer.ClientConn, _ balancer.BuildOptions) balancer.Balancer {
	cc.UpdateState(balancer.State{ConnectivityState: connectivity.Connecting, Picker: &picker{}})
	return c
}

func (c closing) Close() {
	<-c.may
	*c.closed++
}

// TestThrottledLookup: nothing is noted of lookups that the throttle refuses, however many keys they have. Other answers
// stay, no key backs off, and RPCs that wait for ready pick again after a while.
func TestThrottledLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed, may := 0, make(chan struct{})
		close(may)
		b := newLB(t, closing{closed: &closed, may: may})
		known := cacheKey{path: "known"}
		b.answered(nil, known, &lookuppb.RouteLookupResponse{Targets: []string{"target"}}, nil)
		time.Sleep(2 * minEviction)
		b.mu.Lock()
		b.throttle.at(time.Now()).throttled = math.MaxInt32 // it refuses each lookup
		b.mu.Unlock()
		_, pickers := b.cc.(*lbtest.ClientConn).State()
		for i := range 1000 {
			c := b.choose(cacheKey{path: fmt.Sprint(i)}, nil)
			if want := serviceError(errThrottled); c.err == nil || c.err.Error() != want.Error() {
				t.Fatalf("the RPC gets %v", c.err)
			}
		}
		b.mu.Lock()
		if b.cache.get(cacheKey{path: "1"}) != nil || b.cache.get(known) == nil || len(b.pending) != 0 {
			t.Error("refused lookups are noted, or took the place of an answer")
		}
		b.mu.Unlock()
		time.Sleep(throttledPause)
		synctest.Wait()
		if _, now := b.cc.(*lbtest.ClientConn).State(); now != pickers+1 {
			t.Errorf("%d pickers came after the pause", now-pickers)
		}
		if closed != 0 {
			t.Errorf("%d children are closed", closed)
		}
	})
}
