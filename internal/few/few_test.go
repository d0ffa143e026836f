// SPDX-License-Identifier: Apache-2.0

package few

import (
	"maps"
	"math/rand/v2"
	"testing"

	"google.golang.org/grpc/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// TestAsAMap does the same to a Map and to one of Go's own, with more entries than a list has and
// with less.
func TestAsAMap(t *testing.T) {
	for _, keys := range []int{1, 3, limit, limit + 1, 5 * limit} {
		var m Map[int, int]
		want := map[int]int{}
		for i := range 2000 {
			k := rand.IntN(keys)
			switch rand.IntN(3) {
			case 0:
				m.Delete(k)
				delete(want, k)
			case 1:
				m.Set(k, i)
				want[k] = i
			}
			v, ok := m.Get(k)
			if wv, wok := want[k]; v != wv || ok != wok {
				t.Fatalf("key %d is %d, %t; want %d, %t", k, v, ok, wv, wok)
			}
			if got := maps.Collect(m.All); m.Len() != len(want) || !maps.Equal(got, want) {
				t.Fatalf("%v, length %d; want %v", got, m.Len(), want)
			}
		}
		m.Clear()
		if m.Len() != 0 {
			t.Errorf("%d entries after Clear", m.Len())
		}
	}
}

// TestDeleteInAll: each entry that is there comes once, though it and others are removed meanwhile.
func TestDeleteInAll(t *testing.T) {
	for _, n := range []int{2, limit, 5 * limit} {
		var m Map[int, string]
		for i := range n {
			m.Set(i, "x")
		}
		seen := map[int]int{}
		for k, v := range m.All {
			seen[k]++
			if v != "x" {
				t.Errorf("%q", v)
			}
			m.Delete(k)
		}
		if len(seen) != n || m.Len() != 0 {
			t.Errorf("%d of %d, %d left", len(seen), n, m.Len())
		}
		for k, times := range seen {
			if times != 1 {
				t.Errorf("%d came %d times", k, times)
			}
		}
	}
	var m Map[int, int]
	m.Set(1, 1)
	m.Set(2, 2)
	for range m.All { // it may be left at any time
		break
	}
}

// TestAllocations: an entry takes the list, and nothing else.
func TestAllocations(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() {
		var m Map[string, *int]
		m.Set("x", nil)
		m.Set("x", nil)
		_, _ = m.Get("x")
		m.Delete("x")
	}); n != 1 {
		t.Errorf("%v allocations", n)
	}
}
