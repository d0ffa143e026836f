// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"
)

// matchByWalk is A36's choice, stage by stage over all rules: of all combinations, the best in a stage
// stay for the next.
func matchByWalk(rules []chainRule, c *connection) *FilterChain {
	var best [stages]int
	for s := range stages {
		best[s] = none
		for i := range rules {
			if rules[i].among(c, &best, s) {
				best[s] = max(best[s], rules[i].rank(c, s))
			}
		}
		if best[s] == none {
			return nil
		}
	}
	for i := range rules {
		if rules[i].among(c, &best, stages) {
			return rules[i].chain
		}
	}
	return nil
}

// stages of the choice, in their order.
const (
	byDestination = iota
	byTransport
	bySourceType
	bySource
	bySourcePort
	stages
)

// none is the rank of a rule that is not for the connection.
const none = -1

// among reports whether the rule is one of the best in each stage before the given one.
func (r *chainRule) among(c *connection, best *[stages]int, before int) bool {
	for s := range before {
		if r.rank(c, s) != best[s] {
			return false
		}
	}
	return true
}

// rank says how specific the rule is in a stage.
func (r *chainRule) rank(c *connection, stage int) int {
	switch stage {
	case byDestination:
		return rankPrefix(r.destination, c.server)
	case byTransport:
		return rankBool(r.transport)
	case bySourceType:
		return r.rankType(c)
	case bySource:
		return rankPrefix(r.source, c.client)
	default:
		switch r.sourcePort {
		case 0:
			return 0
		case c.port:
			return 1
		default:
			return none
		}
	}
}

func rankBool(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (r *chainRule) rankType(c *connection) int {
	local := c.client.IsValid() && (c.client == c.server || c.client.IsLoopback())
	switch {
	case r.sourceType == anySource:
		return 0
	case local == (r.sourceType == localSource):
		return 1
	default:
		return none
	}
}

// rankPrefix ranks a prefix of no bits above one that is not there.
func rankPrefix(p netip.Prefix, a netip.Addr) int {
	switch {
	case !p.IsValid():
		return 0
	case p.Contains(a):
		return p.Bits() + 1
	default:
		return none
	}
}

// randomPrefix is of a small network, so that many contain each other; one of five is not there.
func randomPrefix(r *rand.Rand) netip.Prefix {
	if r.IntN(5) == 0 {
		return netip.Prefix{}
	}
	a := randomAddr(r)
	p, err := a.Prefix(r.IntN(a.BitLen() + 1))
	if err != nil {
		panic(err)
	}
	return p
}

func randomAddr(r *rand.Rand) netip.Addr {
	switch r.IntN(8) {
	case 0:
		return netip.MustParseAddr("127.0.0.1")
	case 1:
		return netip.MustParseAddr("::1")
	case 2, 3:
		return netip.AddrFrom16([16]byte{0x20, 1, 15: byte(r.IntN(4))})
	default:
		return netip.AddrFrom4([4]byte{10, byte(r.IntN(2)), 0, byte(r.IntN(4))})
	}
}

// TestA36IndexIsTheWalk: what the index finds is what a walk over all rules finds.
func TestA36IndexIsTheWalk(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 36))
		var x chainIndex
		rules := make([]chainRule, 1+r.IntN(120))
		for i := range rules {
			rules[i] = chainRule{
				chain: &FilterChain{Name: fmt.Sprint(i)}, destination: randomPrefix(r), source: randomPrefix(r),
				sourceType: sourceType(r.IntN(int(externalSource) + 1)), sourcePort: uint16(r.IntN(3)), transport: r.IntN(3) == 0,
			}
			x.add(&rules[i])
		}
		for range 200 {
			c := &connection{client: randomAddr(r), server: randomAddr(r), port: uint16(1 + r.IntN(3))}
			switch r.IntN(10) {
			case 0: // of no IP network
				c = &connection{}
			case 1:
				c.server = c.client
			}
			if got, want := x.find(c), matchByWalk(rules, c); got != want {
				t.Fatalf("seed %d: %+v: %+v, want %+v", seed, c, got, want)
			}
		}
	}
}

// manyRules are for as many networks of servers and clients, with a port for each.
func manyRules(n int) (rules []chainRule, x *chainIndex) {
	rules, x = make([]chainRule, n), new(chainIndex)
	for i := range rules {
		host := netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
		rules[i] = chainRule{chain: &FilterChain{}, source: netip.PrefixFrom(host, 32), sourcePort: 7}
		x.add(&rules[i])
	}
	return rules, x
}

func BenchmarkMatch(b *testing.B) {
	for _, n := range []int{1, 256, maxRules} {
		rules, x := manyRules(n)
		c := &connection{client: rules[n-1].source.Addr(), server: netip.MustParseAddr("10.0.0.1"), port: 7}
		b.Run(fmt.Sprintf("index of %d", n), func(b *testing.B) {
			for b.Loop() {
				if x.find(c) != rules[n-1].chain {
					b.Fatal("another chain")
				}
			}
		})
		b.Run(fmt.Sprintf("walk of %d", n), func(b *testing.B) {
			for b.Loop() {
				matchByWalk(rules, c)
			}
		})
	}
}

// TestMatchIsNotLinear: a connection costs the same with 65,536 combinations as with 256, give or take
// caches; a walk costs 256 times as much.
func TestMatchIsNotLinear(t *testing.T) {
	cost := func(n int) time.Duration {
		rules, x := manyRules(n)
		c := &connection{client: rules[n-1].source.Addr(), server: netip.MustParseAddr("10.0.0.1"), port: 7}
		best := time.Hour
		for range 20 {
			begin := time.Now()
			for range 100 {
				x.find(c)
			}
			best = min(best, time.Since(begin))
		}
		return best
	}
	if few, many := cost(256), cost(maxRules); many > 50*few {
		t.Errorf("%v for 256, %v for %d", few, many, maxRules)
	}
}
