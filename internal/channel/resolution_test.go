// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"runtime"
	"sync"
	"testing"
)

// TestEnsureConfigDuringUpdate: the fallback does not replace a service config that arrives at the
// moment at which the resolver reports an error.
func TestEnsureConfigDuringUpdate(t *testing.T) {
	c := newConfig(&ServiceConfig{})
	for range 500 {
		ch := &Channel{opts: &Options{Fallback: NoServiceConfig}}
		r := &resolverWrapper{ch: ch}
		ch.resolver = r
		ch.mu.Lock()
		var wg sync.WaitGroup
		wg.Go(func() { ch.ensureConfig(r) })
		for range 10 {
			runtime.Gosched() // so that it waits for mu
		}
		ch.config.Store(c)
		ch.mu.Unlock()
		wg.Wait()
		if ch.config.Load() != c {
			t.Fatal("the service config is lost")
		}
	}
}
