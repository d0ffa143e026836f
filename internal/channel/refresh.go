// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc/internal/resolver/static"
	"google.golang.org/grpc/resolver"
)

// refreshing is a resolver that is asked to resolve again about once per Options.ResolveEvery.
type refreshing struct {
	resolver.Resolver
	every time.Duration
	ask   func()

	mu     sync.Mutex
	closed bool
	timer  *time.Timer
}

// refreshed returns built, wrapped in a refreshing if Options.ResolveEvery asks for that and the
// answer of built can change.
func (r *resolverWrapper) refreshed(built resolver.Resolver) resolver.Resolver {
	if _, never := built.(static.Resolver); never || r.ch.opts.ResolveEvery <= 0 {
		return built
	}
	// A channel asks no more often than resolvePace allows; pause adds to it.
	every := min(max(r.ch.opts.ResolveEvery, resolveInterval), math.MaxInt64/2)
	f := &refreshing{Resolver: built, every: every, ask: r.resolveNow}
	f.mu.Lock()
	f.timer = time.AfterFunc(f.pause(), f.again)
	f.mu.Unlock()
	return f
}

// pause returns 0.8 to 1.2 times f.every, at random, so that clients which started together do not
// ask together.
func (f *refreshing) pause() time.Duration {
	fifth := int64(f.every / 5)
	return f.every + time.Duration(rand.Int64N(2*fifth+1)-fifth)
}

func (f *refreshing) again() {
	f.mu.Lock()
	closed := f.closed
	if !closed {
		f.timer.Reset(f.pause())
	}
	f.mu.Unlock()
	if !closed {
		f.ask()
	}
}

// Close implements resolver.Resolver.
func (f *refreshing) Close() {
	f.mu.Lock()
	f.closed = true
	f.timer.Stop()
	f.mu.Unlock()
	f.Resolver.Close()
}
