// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"testing"

	"google.golang.org/grpc/internal/orders"
)

// TestOrders has news, looks, and the ends of turns come in every order.
func TestOrders(t *testing.T) {
	const events = 10
	n := orders.Each(func(c *orders.Choices) bool {
		var turn Turn
		working, news, seen, looked, over := 1, 0, 0, false, false
		check := func(ok bool, what string) {
			if !ok {
				t.Errorf("%s after %v", what, c.Made())
			}
		}
		for range events {
			switch c.IntN(4) {
			case 0:
				news++
				if turn.Wake() {
					working++
					looked = false
				}
			case 1:
				if working > 0 {
					seen, looked = news, true
				}
			case 2:
				if !looked {
					continue // whoever has the turn looks before it rests
				}
				if working > 0 && turn.Rest() {
					working--
					check(over || seen == news, "news that nobody looks at")
				} else if working > 0 {
					looked = false
				}
			case 3:
				if working > 0 {
					turn.End()
					over, working = true, 0
				}
			}
			check(working <= 1, "two at work")
			check(!over || working == 0, "a turn after the end")
		}
		return !t.Failed()
	})
	t.Logf("%d orders", n)
}
