// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
	"math/rand/v2"
	"testing"

	"google.golang.org/grpc/mem"
)

// TestTakeSmall: whatever arrives, the small messages that are taken together, and the others one by
// one, are those that there are.
func TestTakeSmall(t *testing.T) {
	rnd := rand.New(rand.NewPCG(36, 1))
	together := 0
	for range 2000 {
		var wire []byte
		for range rnd.IntN(60) {
			n := []int{0, 1, 1, 1, 40, smallMax, smallMax + 1, 3000}[rnd.IntN(8)]
			wire = appendMessage(wire, rnd.IntN(3) == 0, n)
		}
		wire = append(wire, [][]byte{nil, {0}, {0, 0, 0, 0, 9, 1}, {2, 0, 0, 0, 0}, {0, 255, 255, 255, 255, 0}}[rnd.IntN(5)]...)
		limit := []int{0, 1, 50, 1 << 20}[rnd.IntN(4)]
		want, _, bad := naive(wire, clampLen(limit))

		var a Assembler
		a.Init(new(mem.BufferPool(newLedger(t))), limit)
		var got []plain
		var failed error
		for p := wire; len(p) > 0 && failed == nil; {
			payload := p[:min(len(p), 1+rnd.IntN(500))]
			p = p[len(payload):]
			for len(payload) > 0 && failed == nil {
				if next := a.SmallNext(payload); next {
					var r Run
					n, messages := a.TakeSmall(payload, &r)
					if messages == 0 || n == 0 || len(r.b) > maxRun {
						t.Fatalf("%d messages in %d bytes, %d bytes in the run", messages, n, len(r.b))
					}
					payload = payload[n:]
					for range messages {
						got = append(got, take(t, r.Next()))
					}
					if !r.Empty() {
						t.Fatal("more messages than were counted")
					}
					together += messages
					continue
				}
				n, m, complete, err := a.Take(payload, 1<<20)
				payload, failed = payload[n:], err
				if complete {
					got = append(got, take(t, m))
				}
			}
		}
		if (failed != nil) != bad {
			t.Fatalf("error %v, want one: %v", failed, bad)
		}
		same(t, got, want)
		a.Abort()
	}
	if together == 0 {
		t.Error("none was taken with others")
	}
}

// TestTakeSmallAtOnce: a payload of messages of one byte is told apart a run at a time.
func TestTakeSmallAtOnce(t *testing.T) {
	var wire []byte
	for range 10_000 {
		wire = appendMessage(wire, false, 1)
	}
	var a Assembler
	a.Init(new(mem.BufferPool(newLedger(t))), 100)
	runs := 0
	for len(wire) > 0 {
		var r Run
		n, _ := a.TakeSmall(wire, &r)
		wire = wire[n:]
		runs++
	}
	if want := 10_000*2/maxRun + 1; runs > want {
		t.Errorf("%d runs, want %d", runs, want)
	}
}
