// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"math/rand/v2"
	"testing"
)

func TestAccountStanding(t *testing.T) {
	for _, tt := range []struct {
		held, bound int64
		want        limitState
	}{
		{0, 0, withinLimit},
		{-5, 0, withinLimit}, // a refund that came before its charge
		{1, 0, overSoftLimit},
		{2, 0, overHardLimit},
		{100, 100, withinLimit},
		{101, 100, overSoftLimit},
		{201, 100, overSoftLimit},
		{202, 100, overHardLimit},
		{1 << 40, 1<<63 - 1, withinLimit}, // no bound
	} {
		a := account{held: tt.held}
		if got := a.limitState(tt.bound); got != tt.want {
			t.Errorf("%d held, bound %d: %d, want %d", tt.held, tt.bound, got, tt.want)
		}
	}
}

func TestAccountAhead(t *testing.T) {
	var a account
	if a.ahead() != 0 {
		t.Error("credit for a peer that has sent nothing")
	}
	a.arrived(1000)
	if got := a.ahead(); got != 1000 {
		t.Errorf("%d ahead after 1000 bytes", got)
	}
	a.charge(600)
	if got := a.ahead(); got != 400 {
		t.Errorf("%d ahead with 600 of 1000 bytes held", got)
	}
	a.charge(600)
	if a.ahead() != 0 {
		t.Error("credit beyond what was sent")
	}
	a.refund(1200)
	for range 3 {
		a.arrived(1<<32 - 1)
	}
	if got := a.ahead(); got != maxAhead {
		t.Errorf("%d ahead after many bytes", got)
	}
}

// TestAccountModel: whatever happens in whatever order, the account is the sum of what is
// held, each piece of shared memory once, and nothing in the end.
func TestAccountModel(t *testing.T) {
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(1, seed))
		var a account
		var l ledger
		var streams []*Stream
		body := map[*Stream]int{}
		shares := map[*Stream]*Shared{}
		var memo, pending *Shared
		loose := 0
		for range 300 {
			switch rnd.IntN(8) {
			case 0: // a stream opens, with a block of its own or the memo's
				s := &Stream{held: 600}
				block := memo
				if memo == nil || rnd.IntN(2) == 0 {
					n := NewShared(rnd.IntN(1000), nil)
					block = &n
				}
				a.charge(s.held)
				a.share(s, block)
				streams, body[s], shares[s] = append(streams, s), 600, block
			case 1, 2: // something arrives
				if len(streams) == 0 {
					continue
				}
				s, n := streams[rnd.IntN(len(streams))], rnd.IntN(5000)
				l.stream, l.body = s, n
				body[s] += n
				a.enter(&l)
			case 3: // something is taken
				if len(streams) == 0 {
					continue
				}
				s := streams[rnd.IntN(len(streams))]
				n := rnd.IntN(body[s] + 1)
				a.refundOf(s, n)
				body[s] -= n
			case 4: // a stream ends; what comes later changes nothing
				if len(streams) == 0 {
					continue
				}
				i := rnd.IntN(len(streams))
				s := streams[i]
				a.settle(s)
				a.settle(s)
				a.refundOf(s, 77)
				l.stream, l.body = s, 99
				a.enter(&l)
				streams = append(streams[:i], streams[i+1:]...)
				delete(body, s)
				delete(shares, s)
			case 5: // another memo
				l.lost, pending = memo, nil
				if len(streams) > 0 {
					pending = shares[streams[rnd.IntN(len(streams))]]
				}
				l.gained = pending
				memo = pending
				a.enter(&l)
			case 6:
				n := rnd.IntN(2000) - min(loose, 1000)
				l.loose += n
				loose += n
				a.enter(&l)
			}
			want, seen := loose, map[*Shared]bool{nil: true}
			for _, s := range streams {
				want += body[s]
				if b := shares[s]; !seen[b] {
					seen[b] = true
					want += int(b.size)
				}
			}
			if !seen[memo] {
				want += int(memo.size)
			}
			if a.held != int64(want) {
				t.Fatalf("seed %d: %d bytes are charged, %d held", seed, a.held, want)
			}
		}
		for _, s := range streams {
			a.settle(s)
		}
		l.lost, l.loose = memo, -loose
		a.enter(&l)
		if a.held != 0 {
			t.Fatalf("seed %d: %d bytes are left", seed, a.held)
		}
	}
}
