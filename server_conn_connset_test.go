// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"math/rand/v2"
	"testing"

	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/transport"
)

// The set holds what was added and not removed, once, and gives memory back.
func TestConnSet(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var s connSet
	conns := make([]transport.Server, 500)
	want := make(map[*transport.Server]*channelz.Socket)
	for i := range 20_000 {
		c := &conns[rnd.IntN(len(conns))]
		if socket, in := want[c]; in && (rnd.IntN(3) > 0) == (i > 10_000) {
			if got, known := s.remove(c); !known || got != socket {
				t.Fatalf("removed %v, %v; want %v", got, known, socket)
			}
			delete(want, c)
		} else if !in {
			if _, known := s.remove(c); known {
				t.Fatal("a connection that is in no set was removed")
			}
			if rnd.IntN(2) == 0 {
				socket = new(channelz.Socket)
			}
			s.add(c, socket)
			want[c] = socket
		}
		if s.len() != len(want) {
			t.Fatalf("%d connections, want %d", s.len(), len(want))
		}
	}
	for _, c := range s.list {
		if _, in := want[c]; !in {
			t.Fatal("a connection that was removed, or is there twice")
		}
		delete(want, c)
	}
	for s.len() > 0 {
		s.remove(s.list[0])
	}
	if cap(s.list) > 64 || len(s.sockets) > 0 {
		t.Errorf("an empty set has room for %d connections, and %d sockets", cap(s.list), len(s.sockets))
	}
}
