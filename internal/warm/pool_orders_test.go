// SPDX-License-Identifier: Apache-2.0

package warm

import (
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/internal/orders"
)

// TestOrders has tasks, workers that come to wait, and sweeps come in every order: each order goes
// to one who waits, and a sweep ends those whom nobody needed since the last.
func TestOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const events = 9
		n := orders.Each(func(c *orders.Choices) bool {
			p := newPool(1)
			s := p.shard(0)
			waiting := map[seat]int{}
			idle, low := 0, 0
			for range events {
				switch c.IntN(3) {
				case 0: // a worker comes
					if seat := s.push(); seat == nil {
						t.Errorf("no seat, and nobody else is here, after %v", c.Made())
					} else {
						waiting[seat]++
						idle++
					}
				case 1: // a task
					seat := s.pop()
					if (seat == nil) != (idle == 0) {
						t.Errorf("%d are idle, and one was found: %v, after %v", idle, seat != nil, c.Made())
					}
					if seat != nil {
						if waiting[seat]--; waiting[seat] < 0 {
							t.Errorf("nobody waits at the seat of an order, after %v", c.Made())
						}
						idle--
						low = min(low, idle)
					}
				case 2: // a sweep
					if !s.armed {
						continue
					}
					s.trim()
					ended := 0
					for seat := range waiting {
						for len(seat) > 0 {
							<-seat
							waiting[seat]--
							ended++
						}
						if waiting[seat] < 0 {
							t.Errorf("two ends at one seat, after %v", c.Made())
						}
					}
					if ended != low {
						t.Errorf("%d workers end, %d had nothing to do, after %v", ended, low, c.Made())
					}
					idle -= ended
					low = idle
				}
				if s.idle != idle {
					t.Errorf("%d wait, and %d are counted, after %v", idle, s.idle, c.Made())
				}
			}
			if s.sweep != nil {
				s.sweep.Stop()
			}
			return !t.Failed()
		})
		t.Logf("%d orders", n)
	})
}
