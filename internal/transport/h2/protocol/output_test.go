// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"testing"

	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/hpack"
)

// TestRepliesAreBounded: once a peer has had so many frames queued that it does not read, nothing more of it
// is to be read, until they are written.
func TestRepliesAreBounded(t *testing.T) {
	c := started(t, Server)
	var in Intake
	in.Begin(c.Config(), Lasting{}, hpack.Frozen{}, nil)
	for n := range MaxReplies + 1 {
		if c.OverBudget(false) {
			t.Fatalf("%d replies are too many", n)
		}
		if _, err := c.OnPing(&in, frame.Header{Type: frame.Ping, Length: 8}, make([]byte, 8), 0); err != nil {
			t.Fatal(err)
		}
	}
	if !c.OverBudget(false) {
		t.Errorf("%d replies are not too many", MaxReplies+1)
	}
	if drain(t, c); c.OverBudget(false) {
		t.Error("they are written, and still too many")
	}
	for n := range maxUpdates + 1 {
		if c.OverBudget(false) {
			t.Fatalf("%d window updates are too many", n)
		}
		c.out.windowUpdate(0, 1)
	}
	if !c.OverBudget(false) {
		t.Errorf("%d window updates are not too many", maxUpdates+1)
	}
	drain(t, c)
}

// TestNoStreamWhileMuchWaits: a peer opens no stream while much waits for it, but goes on with those that
// it has.
func TestNoStreamWhileMuchWaits(t *testing.T) {
	c := started(t, Server)
	c.out.buf.Copy(make([]byte, MaxOutput+1), c.out.cfg.Pool)
	if !c.OverBudget(true) || c.OverBudget(false) {
		t.Errorf("opening %t, going on %t", c.OverBudget(true), c.OverBudget(false))
	}
	drain(t, c)
}
