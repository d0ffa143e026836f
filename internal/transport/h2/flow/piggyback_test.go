// SPDX-License-Identifier: Apache-2.0

package flow

import "testing"

// An update waits for DATA of ours to go with it where there was some since the last one, and
// only there; and no longer than the peer has half of its window.
func TestPiggyback(t *testing.T) {
	in, c := newInflow(1000), Piggyback(0)
	consume := func(n, want uint32) {
		t.Helper()
		if err := in.Receive(n); err != nil {
			t.Fatal(err)
		}
		if inc := c.Consume(&in, n); inc != want {
			t.Errorf("%d consumed: %d, want %d; %+v", n, inc, want, in)
		}
	}
	send := func(want uint32) {
		t.Helper()
		if inc := c.Sends(&in); inc != want {
			t.Errorf("sent: %d, want %d; %+v", inc, want, in)
		}
	}
	consume(300, 300) // nothing was sent yet
	send(0)
	consume(300, 0)
	send(300)
	consume(200, 0)
	send(0) // it is not due
	consume(200, 0)
	consume(200, 600)
	consume(300, 300) // nothing was sent since
}
