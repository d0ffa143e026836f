// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"sync"
	"testing"
	"testing/synctest"
)

// Goroutines that wait on one stream, which a wrong program has, are all woken by its end, and what
// they wait on is no other stream's before.
func TestSleeperOfSeveral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const waiters = 3
		var mu sync.Mutex
		var w waker
		var wg sync.WaitGroup
		gone := 0
		for range waiters {
			wg.Go(func() {
				mu.Lock()
				defer mu.Unlock()
				w.awaken(w.sleep(wakeMessage, &mu))
				w.retire()
				if gone++; (w.who == nil) != (gone == waiters) {
					t.Errorf("after %d of %d the condWaiter is %v", gone, waiters, w.who)
				}
			})
		}
		synctest.Wait()
		mu.Lock()
		w.signal(wakeEnd, 0)
		mu.Unlock()
		wg.Wait()
	})
}

// The same of calls, of which others go on.
func TestSeveralReceive(t *testing.T) {
	ended := make(chan struct{}, 1)
	s := startServer(t, "memory", ServerConfig{Policy: oftenPings}, func(s *ServerStream) {
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if m, err := s.Recv(); err == nil {
					m.Data.Free()
					t.Error("a message of nobody's")
				}
			})
		}
		wg.Wait()
		_ = s.Finish(nil)
		ended <- struct{}{}
	})
	a := attack(t, s)
	for id := uint32(1); id < 1000; id += 2 {
		a.headers(id, block(requestFields...), false)
		if id%3 == 0 {
			a.settle()
		}
		a.send([]byte{0, 0, 0, 0, 1, 0, 0, byte(id >> 8), byte(id)})
		<-ended
	}
	a.settle()
}
