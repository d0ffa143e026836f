// SPDX-License-Identifier: Apache-2.0

package control

import (
	"testing"

	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/peer"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// call is an RPC.
type call struct{ method string }

func (c *call) Method() string   { return c.method }
func (c *call) Peer() *peer.Peer { return nil }
func (c *call) Conn() any        { return nil }

// A Tracker does not keep the memory of as many RPCs as there once were.
func TestRPCsLeaveNoMemory(t *testing.T) {
	tracker := NewTracker()
	calls := make([]*call, 5000)
	for i := range calls {
		calls[i] = &call{"/a/b"}
		tracker.Begin(calls[i])
	}
	if n := len(tracker.RPCs()); n != len(calls) {
		t.Fatalf("%d RPCs of %d", n, len(calls))
	}
	for _, c := range calls {
		tracker.End(c)
	}
	for i := range tracker.shards {
		if s := &tracker.shards[i]; len(s.rpcs) != 0 || s.most > 64 {
			t.Errorf("shard %d keeps a map that had %d RPCs", i, s.most)
		}
	}
	tracker.Begin(calls[0])
	if list := tracker.RPCs(); len(list) != 1 || list[0].Method != "/a/b" {
		t.Errorf("then: %v", list)
	}
}

// TestNilTracker: a server that nobody controls has one.
func TestNilTracker(t *testing.T) {
	var tracker *Tracker
	c := &call{"/a/b"}
	tracker.BeginConn(nil)
	tracker.Begin(c)
	if conns, rpcs, lost := tracker.Conns(), tracker.RPCs(), tracker.Lost(); len(conns)+len(rpcs)+len(lost) != 0 {
		t.Errorf("it knows %v, %v and %v", conns, rpcs, lost)
	}
	tracker.End(c)
	tracker.EndConn(nil, nil)
}
