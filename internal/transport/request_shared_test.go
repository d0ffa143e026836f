// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"
	"time"
)

// served is a call as its handler has it.
type served struct {
	req  *request
	id   string // of its metadata
	left time.Duration
}

// seenServer hands over what its handlers see.
func seenServer(t *testing.T, network string) (*testServer, <-chan served) {
	seen := make(chan served, 1)
	return startServer(t, network, ServerConfig{Policy: oftenPings}, func(s *ServerStream) {
		c := served{req: s.req}
		if vs := s.IncomingHeader()["id"]; len(vs) == 1 {
			c.id = vs[0]
		}
		if d, ok := s.Context().Deadline(); ok {
			c.left = time.Until(d)
		}
		_ = s.Finish(nil)
		seen <- c
	}), seen
}

// has checks the deadline, of which little is over.
func (c served) has(t *testing.T, timeout time.Duration) {
	t.Helper()
	if c.left > timeout || c.left < timeout-10*time.Second {
		t.Errorf("%v are left of a timeout of %v", c.left, timeout)
	}
}

// Requests that differ in their timeouts alone are one, and each call has its own deadline.
func TestRequestsOfAllTimeoutsAreOne(t *testing.T) {
	s, seen := seenServer(t, "memory")
	a := attack(t, s)
	id := uint32(1)
	call := func(fields ...string) served {
		t.Helper()
		a.headers(id, block(requestWith(fields...)...), true)
		id += 2
		return <-seen
	}
	a.settle()
	reads := s.only().Stats().Held // a buffer, where they are not pooled
	first := call("grpc-timeout", "100S", "id", "x")
	first.has(t, 100*time.Second)
	atRest := func() {
		t.Helper()
		a.settle()
		waitFor(t, "the request alone to be charged", func() bool { return s.only().Stats().Held == reads+first.req.memory() })
	}
	atRest()
	for i := range 30 {
		n := 200 + i/2*20 // each one twice
		c := call("grpc-timeout", fmt.Sprint(n, "S"), "id", "x")
		c.has(t, time.Duration(n)*time.Second)
		if c.req != first.req || c.id != "x" {
			t.Fatalf("call %d has a request of its own, with id %q", i, c.id)
		}
	}
	atRest()
	for name, fields := range map[string][]string{
		"other metadata":     {"grpc-timeout", "100S", "id", "y"},
		"another length":     {"grpc-timeout", "1000S", "id", "x"},
		"an encoding":        {"grpc-timeout", "100S", "id", "x", "grpc-encoding", "gzip"},
		"no timeout":         {"id", "x"},
		"a host":             {"grpc-timeout", "100S", "id", "x", "host", "a"},
		"fields out of turn": {"id", "x", "grpc-timeout", "100S", "a", "b"},
	} {
		c := call(fields...)
		want := 100 * time.Second
		switch name {
		case "another length":
			want = 1000 * time.Second
		case "no timeout":
			want = 0
		}
		if c.has(t, want); c.req == first.req {
			t.Errorf("a request with %s is the same", name)
		}
	}
}

// A request that another connection has parsed leaves its timeout, too.
func TestTimeoutOfAnothersMemo(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // which memory a connection gets depends on that
	s, seen := seenServer(t, "unix")
	insert, refs := tableBlock(requestWith("id", "x")...)
	all := []*attacker{parkable(t, s), parkable(t, s)}
	id := uint32(1)
	call := func(b []byte) {
		for _, a := range all {
			a.headers(id, b, true)
			c := <-seen
			if id > 1 {
				c.has(t, 100*time.Second)
			}
			a.settle()
			waitParked(t, int64(len(all)))
		}
		id += 2
	}
	call(insert)
	for range 10 {
		call(append(bytes.Clone(refs), block("grpc-timeout", "100S")...))
	}
}
