// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/internal/transport/park"
	"google.golang.org/grpc/mem"
)

// until waits for what no event tells.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

func (r *testRole) told(line string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lines {
		if l == line {
			return true
		}
	}
	return false
}

// A connection with an open stream parks, wakes for a frame, and when it is
// closed while parked its stream is told. In the middle of a field block there
// is state that can't be given back: there it does not park.
func TestParking(t *testing.T) {
	if !park.Supported() {
		t.Skip("not on this system")
	}
	nc, ns := socketPair(t, "unix", 0)
	defer nc.Close()
	role := &testRole{}
	c := New(ns, Server, &Config{Pool: mem.DefaultBufferPool(), Pooled: true, StaticWindow: true}, role)
	c.Start()
	p := &testPeer{t: t}
	p.enc = newPeerEncoder(p)
	first := p.request(1, false)
	b := p.fieldBlock(request...) // in the order in which they are sent
	nc.Write(join([]byte(http2.ClientPreface), settings(), raw(fSettings, 1, 0, nil), first, raw(fHeaders, 1, 3, b[:1])))
	until(t, "the first stream", func() bool { return role.told("opened 1 :method=POST :path=/x") })
	for range 3 { // sweeps that find the reader waiting for CONTINUATION
		until(t, "the sweeper's turn", func() bool { return !c.quiet.Load() })
		(*quieter)(c).Quiet()
	}
	until(t, "the reader's answer", func() bool { return !c.quiet.Load() })
	if c.handle.Parked() {
		t.Fatal("parked in the middle of a field block")
	}
	nc.Write(raw(fContinuation, 4, 3, b[1:]))
	until(t, "the second stream", func() bool { return role.told("opened 3 :method=POST :path=/x end") })
	until(t, "parked", c.handle.Parked)
	nc.Write(data(1, "", true))
	until(t, "awake", func() bool { return role.told("end 1") })
	until(t, "parked again", c.handle.Parked)
	c.Close(errors.New("enough"))
	until(t, "told", func() bool {
		return role.told("closed: enough") && role.told("abort 1 enough") && role.told("abort 3 enough")
	})
}
