// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"sync/atomic"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/resolver"
)

// slowResolver waits in ResolveNow.
type slowResolver struct {
	goOn   chan struct{}
	asking atomic.Bool
	closed atomic.Int32
	beside atomic.Bool // Close was called while ResolveNow was under way
}

func (r *slowResolver) ResolveNow(resolver.ResolveNowOptions) {
	r.asking.Store(true)
	<-r.goOn
	r.asking.Store(false)
}

func (r *slowResolver) Close() {
	r.closed.Add(1)
	r.beside.Store(r.asking.Load())
}

// TestResolverCloseIsLast: a resolver is not asked while it is closed, or after: many close a channel then.
func TestResolverCloseIsLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowResolver{goOn: make(chan struct{})}
		r := &resolverWrapper{resolver: slow}
		r.resolveNow()
		synctest.Wait()
		r.close()
		if !slow.asking.Load() || slow.closed.Load() != 0 {
			t.Error("the resolver is closed while it is asked")
		}
		r.resolveNow()
		close(slow.goOn)
		synctest.Wait()
		if slow.closed.Load() != 1 || slow.beside.Load() || slow.asking.Load() {
			t.Errorf("closed %d times", slow.closed.Load())
		}
		quick := &slowResolver{}
		r = &resolverWrapper{resolver: quick}
		if r.close(); quick.closed.Load() != 1 {
			t.Error("close returns before the resolver's Close")
		}
	})
}
