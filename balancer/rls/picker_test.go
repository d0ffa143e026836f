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

// TestThrottledLookupEndsChildren: to note that a lookup was not sent may take other answers out of the cache. Their
// children end then, not at the next answer or purge; the RPC does not wait for that.
func TestThrottledLookupEndsChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed, may := 0, make(chan struct{})
		b := newLB(t, closing{closed: &closed, may: may})
		const answers = 3
		for i := range answers {
			b.answered(nil, cacheKey{path: fmt.Sprint(i)}, &lookuppb.RouteLookupResponse{Targets: []string{fmt.Sprint("target", i)}}, nil)
		}
		time.Sleep(2 * minEviction)
		b.mu.Lock()
		b.cache.max = answerCost
		b.throttle.at(time.Now()).throttled = math.MaxInt32 // it refuses each lookup
		b.mu.Unlock()
		if c := b.choose(cacheKey{path: "new"}, nil); c.err == nil || c.err == balancer.ErrNoSubConnAvailable {
			t.Errorf("the RPC gets %v", c.err)
		}
		close(may)
		synctest.Wait()
		s, _ := b.cc.(*lbtest.ClientConn).State()
		b.mu.Lock()
		defer b.mu.Unlock()
		if closed != answers || len(b.children) != 0 || s.ConnectivityState != connectivity.Idle {
			t.Errorf("%d of %d children are closed, %d are left, the state is %v", closed, answers, len(b.children), s.ConnectivityState)
		}
	})
}
