// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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
	for _, wait := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			slow := &slowResolver{goOn: make(chan struct{})}
			r := &resolverWrapper{resolver: slow}
			r.resolveNow()
			synctest.Wait()
			returned := make(chan struct{})
			go func() {
				r.close(wait)
				close(returned)
			}()
			synctest.Wait()
			select {
			case <-returned:
				if wait {
					t.Error("close returns before the resolver's Close")
				}
			default:
				if !wait {
					t.Error("close waits")
				}
			}
			if slow.closed.Load() != 0 {
				t.Error("the resolver is closed while it is asked")
			}
			r.resolveNow()
			close(slow.goOn)
			<-returned
			synctest.Wait()
			if slow.closed.Load() != 1 || slow.beside.Load() || slow.asking.Load() {
				t.Errorf("closed %d times", slow.closed.Load())
			}
		})
	}
}

// TestResolverCloseAtOnce: close waits neither for what has only been asked for, nor for a ResolveNow that waits for it.
func TestResolverCloseAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quick := &slowResolver{goOn: make(chan struct{})}
		r := &resolverWrapper{resolver: quick}
		r.resolveNow() // its goroutine has not begun, or finds the resolver closed
		r.mu.Lock()
		begun := r.asking != nil
		r.mu.Unlock()
		if r.close(true); !begun && quick.closed.Load() != 1 {
			t.Error("close returns before the resolver's Close")
		}
		close(quick.goOn)
	})
	synctest.Test(t, func(t *testing.T) {
		stuck := &slowResolver{goOn: make(chan struct{})}
		r := &resolverWrapper{resolver: stuck}
		r.resolveNow()
		synctest.Wait()
		begin := time.Now()
		r.close(true)
		if took := time.Since(begin); took != closePatience || stuck.closed.Load() != 1 {
			t.Errorf("closed %d times after %v", stuck.closed.Load(), took)
		}
		close(stuck.goOn)
	})
}
