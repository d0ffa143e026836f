// SPDX-License-Identifier: Apache-2.0

package hpack

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	oracle "golang.org/x/net/http2/hpack"

	"google.golang.org/grpc/internal/testutils"
)

func TestEntrySize(t *testing.T) {
	if n := unsafe.Sizeof(entry{}); n != entrySize {
		t.Errorf("an entry has %d octets", n)
	}
}

// No table has the generation of one with other fields, in whose memory ever it is.
func TestThawedGenerationsAreNew(t *testing.T) {
	first := NewEncoder(4096)
	states := []Frozen{first.Freeze()}
	first.AppendField(nil, "a", "b", Incremental)
	states = append(states, first.Freeze())
	seen := map[uint64]bool{first.Generation(): true}
	encoders := make([]Encoder, 3)
	for round := range 3 * block {
		for i := range encoders {
			encoders[i].Thaw(states[round%2])
			gen := encoders[i].Generation()
			if seen[gen] || gen < block<<32 {
				t.Fatalf("generation %#x", gen)
			}
			seen[gen] = true
		}
	}
}

// freezer moves what is frozen from one place to another, as idle connections do
// with what they share: the next one to thaw gets memory that others have used.
type freezer struct {
	e Encoder
	d Decoder
}

func (f *freezer) encoder(e *Encoder) *Encoder {
	s := e.Freeze()
	f.e.Thaw(s)
	if again := f.e.Freeze(); again != s {
		panic(fmt.Sprintf("frozen %v, and again %v", s, again))
	}
	got := f.e
	f.e = *e
	return &got
}

func (f *freezer) decoder(d *Decoder) *Decoder {
	s := d.Freeze()
	f.d.Thaw(s, nil)
	if again := f.d.Freeze(); again != s {
		panic(fmt.Sprintf("frozen %v, and again %v", s, again))
	}
	got := f.d
	f.d = *d
	return &got
}

// A pair that is frozen now and then writes the same octets and reads the same
// fields as one that never is.
func TestFreezeIsNotSeen(t *testing.T) {
	for seed := range uint64(testutils.Rounds(40)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { freezeBeside(t, rand.New(rand.NewPCG(seed, 7))) })
	}
}

func freezeBeside(t *testing.T, rnd *rand.Rand) {
	var f freezer
	ceiling := uint32(rnd.IntN(6000))
	plainE, coldE := NewEncoder(ceiling), NewEncoder(ceiling)
	plainD, coldD := new(Decoder), new(Decoder)
	theirs := oracle.NewDecoder(4096, nil)
	for range 150 {
		if rnd.IntN(3) == 0 {
			coldE = f.encoder(coldE)
		}
		for range max(0, rnd.IntN(9)-6) {
			n := uint32(rnd.IntN(5000))
			for _, e := range []*Encoder{plainE, coldE} {
				e.SetMaxTableSize(n)
			}
			for _, d := range []*Decoder{plainD, coldD} {
				d.SetAllowedMaxTableSize(n)
			}
			theirs.SetAllowedMaxDynamicTableSize(n)
		}
		if rnd.IntN(3) == 0 {
			coldE, coldD = f.encoder(coldE), f.decoder(coldD)
		}
		block, cold := plainE.Begin(nil), coldE.Begin(nil)
		for range rnd.IntN(10) {
			x, ix := randomField(rnd), Indexing(rnd.IntN(3))
			block = plainE.AppendField(block, x.name, x.value, ix)
			cold = coldE.AppendField(cold, x.name, x.value, ix)
		}
		if !bytes.Equal(block, cold) {
			t.Fatalf("one writes\n% x\nthe other\n% x", block, cold)
		}
		want := oracleFieldsOf(t, theirs, block)
		wantFields(t, mustDecode(t, plainD, block), want)
		wantFields(t, mustDecode(t, coldD, block), want)
	}
}

func oracleFieldsOf(t *testing.T, d *oracle.Decoder, block []byte) []field {
	got, err := d.DecodeFull(block)
	if err != nil {
		t.Fatal(err)
	}
	return oracleFields(got)
}

// Whatever a peer sends: between two blocks a decoder can be frozen without that
// making a difference to the second.
func FuzzFreeze(f *testing.F) {
	e := NewEncoder(MaxEncoderTable)
	first := e.AppendField(e.AppendField(nil, "a", "b", Incremental), "user-agent", "x", Incremental)
	second := e.AppendField(e.AppendField(nil, "a", "b", Incremental), "user-agent", "y", Incremental)
	f.Add(first, second, uint16(4096), false)
	f.Add(first, second, uint16(4096), true)
	f.Add([]byte{0x20}, first, uint16(0), true)
	f.Add(append([]byte{0x3f, 0x11}, first...), second, uint16(100), true)
	f.Fuzz(func(t *testing.T, first, second []byte, allowed uint16, same bool) {
		var plain Decoder
		var l List
		l.Reset(1 << 20)
		if plain.Decode(first, &l) != nil {
			return
		}
		plain.SetAllowedMaxTableSize(uint32(allowed))
		frozen := plain.Freeze()
		var want List
		want.Reset(1 << 20)
		wantErr := plain.Decode(second, &want)
		fields := fieldsOf(&want)
		var cold Decoder
		if same { // it has the state already
			mustDecode(t, &cold, first)
			cold.SetAllowedMaxTableSize(uint32(allowed))
			if cold.Freeze() != frozen {
				t.Fatal("equal states differ")
			}
		}
		cold.Thaw(frozen, nil)
		var got List
		got.Reset(1 << 20)
		gotErr := cold.Decode(second, &got)
		if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
			t.Fatalf("%v, without freezing %v", gotErr, wantErr)
		}
		if gotErr == nil {
			wantFields(t, fieldsOf(&got), fields)
		}
	})
}

// Who is thawed to the state that it has goes on with what it remembers, and that alone.
func TestThawedInPlace(t *testing.T) {
	e, d := NewEncoder(MaxEncoderTable), new(Decoder)
	block := e.AppendField(nil, "a", "b", Incremental)
	mustDecode(t, d, block)
	mustDecode(t, d, []byte{0x80 | 62})
	e.AppendField(nil, "a", "b", Incremental) // found whole, and so known from here on
	frozenE, frozenD := e.Freeze(), d.Freeze()
	genE, genD := e.Generation(), d.Generation()
	e.Thaw(frozenE)
	d.Rest()
	d.Thaw(frozenD, nil)
	if _, ok := e.AppendKnown(nil, "a", "b"); !ok || e.Generation() != genE {
		t.Errorf("the encoder knows its field: %v, generation %d, was %d", ok, e.Generation(), genE)
	}
	if *d.t.internedOf(0) != (interned{}) || d.Generation() != genD {
		t.Errorf("the decoder has another's Field: %v, generation %d, was %d", d.t.internedOf(0), d.Generation(), genD)
	}
	e.SetMaxTableSize(100)
	d.SetAllowedMaxTableSize(100)
	if e.Freeze() == frozenE || d.Freeze() == frozenD {
		t.Error("frozen without what the peer's SETTINGS, or ours, said")
	}
	e.Thaw(frozenE)
	d.Thaw(frozenD, nil)
	if e.Freeze() != frozenE || d.Freeze() != frozenD {
		t.Error("not thawed")
	}
}

// What streams hold of a table is found again when it is thawed, and only that.
func TestKeptFields(t *testing.T) {
	var d Decoder
	var l List
	block := appendString(appendString([]byte{0x40}, "held"), strings.Repeat("1", worthKeeping))
	block = appendString(appendString(append(block, 0x40), "free"), "2")
	block = appendString(append(block, 0x0f, 62-15), "x") // its name alone
	block = append(block, 0x80|62, 0x80|63)               // free, held
	block = appendString(appendString(append(block, 0x40), "young"), "3")
	l.Reset(1 << 14)
	if err := d.Decode(block, &l); err != nil {
		t.Fatal(err)
	}
	free, _ := l.Field(3)
	held, _ := l.Field(4)
	held.Holders = 1
	frozen, kept := d.Freeze(), d.Keep()
	d.Rest()
	d.Thaw(frozen, nil)
	d.Restore(kept)
	l.Reset(1 << 14)
	if err := d.Decode([]byte{0x80 | 63, 0x80 | 64}, &l); err != nil {
		t.Fatal(err)
	}
	if f, _ := l.Field(0); f == free {
		t.Error("what nobody holds was kept")
	}
	if f, _ := l.Field(1); f != held {
		t.Error("what a stream holds is written again")
	}
	held.Holders = 0
	if kept := d.Keep(); kept != nil {
		t.Errorf("%v is kept though nobody holds anything", kept)
	}
}

// No generation comes back with another meaning.
func TestThawedGeneration(t *testing.T) {
	e := NewEncoder(MaxEncoderTable)
	e.AppendField(nil, "a", "b", Incremental)
	s := e.Freeze()
	known := map[uint64]bool{e.Generation(): true}
	for range 3 {
		e.AppendField(nil, "c", fmt.Sprint(len(known)), Incremental)
		known[e.Generation()] = true
		e.Thaw(s)
		if known[e.Generation()] {
			t.Fatal("the same generation again")
		}
		known[e.Generation()] = true
	}
	e.Init(MaxEncoderTable)
	if known[e.Generation()] {
		t.Fatal("the same generation in a new table")
	}
}

// Thawing takes no memory where there was enough, and a frozen table about as many
// octets as its entries have.
func TestFrozenMemory(t *testing.T) {
	e, d := NewEncoder(MaxEncoderTable), new(Decoder)
	octets := 0
	for i := range 20 {
		name, value := fmt.Sprint("name-", i), fmt.Sprint("value-", i)
		octets += len(name) + len(value)
		block := e.AppendField(nil, name, value, Incremental)
		mustDecode(t, d, block)
	}
	frozenE, frozenD := e.Freeze(), d.Freeze()
	sizeE, sizeD := len(frozenE.state.Value()), len(frozenD.state.Value())
	if n := max(sizeE, sizeD); n > octets+3*20+20 {
		t.Errorf("%d octets of fields frozen to %d", octets, n)
	}
	buf := make([]byte, 0, 1<<10)
	if n := testing.AllocsPerRun(100, func() {
		e.lastFrozen, d.lastFrozen = frozenGen{}, frozenGen{}
		e.Thaw(frozenE)
		d.Thaw(frozenD, nil)
		buf = d.freeze(e.freeze(buf[:0]))
		e.Freeze()
		d.Freeze()
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if string(buf) != frozenE.state.Value()+frozenD.state.Value() {
		t.Error("not what was frozen")
	}
	d.Reset(nil)
	if d.t.n != 0 || d.Cap() == 0 {
		t.Errorf("Reset left %d entries, %d octets", d.t.n, d.Cap())
	}
}
