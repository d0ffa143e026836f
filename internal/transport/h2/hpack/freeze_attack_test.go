// SPDX-License-Identifier: Apache-2.0

package hpack

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"google.golang.org/grpc/internal/testutils"
)

// line is one connection: its own encoder and decoder, which never serve another, and the frozen
// state of those that come from a pool.
type line struct {
	e  Encoder
	d  Decoder
	fe Frozen
	fd Frozen
	k  *Kinds
}

type sighting struct {
	block  string
	fields string
	k      *Kinds
}

// Many connections on few decoders and encoders: what these say is what each connection's own
// would, and a block that a decoder read without change to its generation means the same on
// whatever connection has that decoder with that generation.
func TestAttackPooledTables(t *testing.T) {
	kinds := []*Kinds{
		NewKinds(func(n []byte) uint8 { return uint8(len(n)) }, func(v []byte) bool { return len(v) > 0 && v[0] == 'v' }),
		NewKinds(func(n []byte) uint8 { return uint8(7 * len(n)) }, func(v []byte) bool { return false }),
	}
	hits := 0
	for seed := range uint64(testutils.Rounds(30)) {
		rnd := rand.New(rand.NewPCG(seed, 11))
		lines := make([]*line, 6)
		for i := range lines {
			lines[i] = &line{k: kinds[rnd.IntN(8)/7]}
			lines[i].d.SetKinds(lines[i].k)
			if rnd.IntN(5) == 0 {
				lines[i].e.SetMaxTableSize(100)
			}
		}
		encoders, decoders := make([]Encoder, 2), make([]Decoder, 2)
		memos := make([]map[uint64][]sighting, 2)
		for i := range memos {
			memos[i] = map[uint64][]sighting{}
		}
		for step := range 1500 {
			l := lines[rnd.IntN(len(lines))]
			e := &encoders[rnd.IntN(2)]
			di := rnd.IntN(2)
			d := &decoders[di]
			if rnd.IntN(200) == 0 {
				*d = Decoder{}
			}
			if l.fe.IsNew() {
				e.Init(MaxEncoderTable)
			} else {
				e.Thaw(l.fe)
			}
			if l.fd.IsNew() {
				d.Reset(l.k)
			} else {
				d.Thaw(l.fd, l.k)
			}
			if l.fe.IsNew() && l.e.peer == 100 {
				e.SetMaxTableSize(100)
			}
			for range 1 + rnd.IntN(3) {
				if rnd.IntN(30) == 0 {
					n := uint32([]int{0, 60, 100, 200, 4096}[rnd.IntN(5)])
					e.SetMaxTableSize(n)
					l.e.SetMaxTableSize(n)
					d.SetAllowedMaxTableSize(n)
					l.d.SetAllowedMaxTableSize(n)
				}
				got, want := e.Begin(nil), l.e.Begin(nil)
				for range rnd.IntN(4) {
					name, value := fmt.Sprint("n", rnd.IntN(3)), fmt.Sprint("v", rnd.IntN(3))
					ix := Indexing(rnd.IntN(8) / 3)
					got = e.AppendField(got, name, value, ix)
					want = l.e.AppendField(want, name, value, ix)
				}
				if string(got) != string(want) {
					t.Fatalf("seed %d step %d: %x, want %x", seed, step, got, want)
				}
				var lg, lw List
				lg.Reset(math.MaxUint32)
				lw.Reset(math.MaxUint32)
				gen := d.Generation()
				var memo *sighting
				for _, s := range memos[di][gen] {
					if s.block == string(got) && s.k == l.k {
						memo = &s
					}
				}
				errG, errW := d.Decode(got, &lg), l.d.Decode(want, &lw)
				if (errG == nil) != (errW == nil) {
					t.Fatalf("seed %d step %d: %v, want %v", seed, step, errG, errW)
				}
				if errG != nil {
					t.Fatal(errG)
				}
				say := func(l *List) (s string) {
					for i := range l.Len() {
						s += fmt.Sprintf("%s=%s %d %v;", l.Name(i), l.Value(i), l.Kind(i), l.Flawed(i))
					}
					return s
				}
				if say(&lg) != say(&lw) {
					t.Fatalf("seed %d step %d: %s, want %s", seed, step, say(&lg), say(&lw))
				}
				if memo != nil {
					if hits++; memo.fields != say(&lw) || d.Generation() != gen {
						t.Fatalf("seed %d step %d: a memo says %s, it is %s; generation %d, %d", seed, step, memo.fields, say(&lw), gen, d.Generation())
					}
				}
				if d.Generation() == gen {
					memos[di][gen] = append(memos[di][gen], sighting{string(got), say(&lw), l.k})
				}
			}
			if rnd.IntN(20) == 0 {
				// the connection ends in the middle of a bad block; another one takes its place
				var bad List
				bad.Reset(math.MaxUint32)
				_ = d.Decode([]byte{0x40, 1, 'q', 1, 'r', 0x20, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, &bad)
				_, _, _ = d.DecodePart([]byte{0x20, 0x40, 1}, &bad, true)
				d.Rest()
				*l = line{k: l.k}
				l.d.SetKinds(l.k)
				continue
			}
			l.fe, l.fd = e.Freeze(), d.Freeze()
			d.Rest()
			if l.fe != l.e.Freeze() || l.fd != l.d.Freeze() {
				t.Fatalf("seed %d step %d: frozen otherwise", seed, step)
			}
		}
	}
	t.Log(hits, "memos met")
	if hits < 100 {
		t.Error("tests little")
	}
}
