// SPDX-License-Identifier: Apache-2.0

package hpack

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"
)

// slowTable is a dynamic table as RFC 7541 section 4 describes it and no faster.
type slowTable struct {
	fields []string // newest first
	max    int
}

func (s *slowTable) size() (n int) {
	for _, f := range s.fields {
		n += len(f) + entryOverhead
	}
	return n
}

func (s *slowTable) evict(to int) {
	for s.size() > to {
		s.fields = s.fields[:len(s.fields)-1]
	}
}

func checkTable(t *testing.T, tab *table, model *slowTable) {
	t.Helper()
	if int(tab.n) != len(model.fields) || int(tab.size) != model.size() {
		t.Fatalf("%d entries, %d octets; want %d, %d", tab.n, tab.size, len(model.fields), model.size())
	}
	for age, want := range model.fields {
		e := tab.at(uint32(age))
		if got := string(tab.arena[e.off:][:e.nameLen+e.valueLen]); got != want {
			t.Fatalf("entry %d is %q, want %q", age, got, want)
		}
	}
	limit := (tab.arenaLimit() + arenaStep) / arenaStep * arenaStep
	if uint64(cap(tab.arena)) > limit {
		t.Fatalf("arena of %d octets for a table of at most %d", cap(tab.arena), tab.max)
	}
}

func TestTableAgainstModel(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 7541))
			tab, model := table{max: 4096}, slowTable{max: 4096}
			longest := 1 + rnd.IntN(400)
			for i := range 600 {
				switch rnd.IntN(40) {
				case 0:
					model.max = rnd.IntN(8192)
					model.evict(model.max)
					tab.setMax(uint32(model.max))
				case 1:
					gen := tab.gen
					tab.trim()
					if tab.gen != gen {
						t.Fatal("trim changed the generation")
					}
				default:
					f := strings.Repeat(string(rune('a'+i%26)), rnd.IntN(longest))
					if len(f)+entryOverhead > model.max {
						continue
					}
					model.evict(model.max - len(f) - entryOverhead)
					model.fields = append([]string{f}, model.fields...)
					cut := rnd.IntN(len(f) + 1)
					copy(tab.push(cut, len(f)-cut, 0), f)
				}
				checkTable(t, &tab, &model)
			}
		})
	}
}

// footprint is what a table holds beside the struct it stands in.
func (t *table) footprint() int {
	return cap(t.arena) + len(t.ring)*int(unsafe.Sizeof(entry{}))
}

// TestIdleMemory leaves out what a connection has no longer when it parks.
func TestIdleMemory(t *testing.T) {
	const most = 700
	var e Encoder
	var d Decoder
	mustDecode(t, &d, appendRequest(nil, &e, Incremental))
	if e.t.n < 5 || d.t.n != e.t.n {
		t.Fatalf("tables of %d and %d entries", e.t.n, d.t.n)
	}
	if got := int(unsafe.Sizeof(e)-unsafe.Sizeof(e.recent)) + e.t.footprint(); got > most {
		t.Errorf("encoder holds %d octets, want at most %d", got, most)
	} else {
		t.Logf("encoder: %d", got)
	}
	if got := int(unsafe.Sizeof(d)) + d.t.footprint(); got > most {
		t.Errorf("decoder holds %d octets, want at most %d", got, most)
	} else {
		t.Logf("decoder: %d", got)
	}
}

func TestEightEntriesMemory(t *testing.T) {
	const most = 700
	var e Encoder
	var d Decoder
	block := e.Begin(nil)
	for i := range 8 {
		name, value := fmt.Sprintf("x-metadata-%d", i), strings.Repeat("v", 18)
		block = e.AppendField(block, name, value, Incremental)
	}
	mustDecode(t, &d, block)
	if e.t.n != 8 || d.t.n != 8 {
		t.Fatalf("tables of %d and %d entries", e.t.n, d.t.n)
	}
	if got := int(unsafe.Sizeof(e)-unsafe.Sizeof(e.recent)) + e.t.footprint(); got > most {
		t.Errorf("encoder holds %d octets, want at most %d", got, most)
	}
	if got := int(unsafe.Sizeof(d)) + d.t.footprint(); got > most {
		t.Errorf("decoder holds %d octets, want at most %d", got, most)
	}
}

func TestTrimAfterHighWater(t *testing.T) {
	var e Encoder
	block := e.Begin(nil)
	for i := range 120 {
		block = e.AppendField(block, fmt.Sprint(i), "", Incremental)
	}
	block = e.AppendField(block, "big", strings.Repeat("x", 4000), Incremental)
	var d Decoder
	mustDecode(t, &d, block)
	for _, f := range []string{"a", "b"} {
		mustDecode(t, &d, e.AppendField(e.Begin(nil), f, strings.Repeat(f, 600), Incremental))
	}
	e.t.trim()
	d.t.trim()
	for _, tab := range []*table{&e.t, &d.t} {
		if tab.n != 2 || tab.footprint() > 2*602+arenaStep+minRing*16 {
			t.Errorf("%d entries hold %d octets", tab.n, tab.footprint())
		}
	}
	wantFields(t, mustDecode(t, &d, []byte{0x80 | 62, 0x80 | 63}), []field{
		{"b", strings.Repeat("b", 600)}, {"a", strings.Repeat("a", 600)},
	})
	e.SetMaxTableSize(0)
	mustDecode(t, &d, e.Begin(nil))
	e.t.trim()
	d.t.trim()
	if n := e.t.footprint() + d.t.footprint(); n != 0 {
		t.Errorf("empty tables hold %d octets", n)
	}
}
