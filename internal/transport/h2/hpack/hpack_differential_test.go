// SPDX-License-Identifier: Apache-2.0

package hpack

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	oracle "golang.org/x/net/http2/hpack"
)

// randomField draws from few names and values, so that tables have something to hit.
func randomField(rnd *rand.Rand) field {
	f := field{name: fmt.Sprint("name-", rnd.IntN(12))}
	if rnd.IntN(2) == 0 {
		f.name = staticFields[1+rnd.IntN(staticLen)][0]
	}
	switch rnd.IntN(6) {
	case 0:
		f.value = staticFields[1+rnd.IntN(staticLen)][1]
	case 1:
		b := make([]byte, rnd.IntN(40))
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		f.value = string(b)
	case 2:
		f.value = strings.Repeat("long", rnd.IntN(1200))
	default:
		f.value = strings.Repeat("v", rnd.IntN(30))
	}
	return f
}

// Our blocks, with table sizes that come and go, mean the same to the oracle and to
// our decoder.
func TestEncodeAgainstOracle(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			e := NewEncoder(uint32(rnd.IntN(6000)))
			var ours Decoder
			theirs := oracle.NewDecoder(4096, nil)
			for range 150 {
				for range max(0, rnd.IntN(9)-6) {
					n := uint32(rnd.IntN(5000))
					e.SetMaxTableSize(n)
					ours.SetAllowedMaxTableSize(n)
					theirs.SetAllowedMaxDynamicTableSize(n)
				}
				block := e.Begin(nil)
				var want []field
				for range rnd.IntN(10) {
					f := randomField(rnd)
					ix := Indexing(rnd.IntN(2))
					if rnd.IntN(12) == 0 {
						ix = NeverIndexed
					}
					want = append(want, f)
					block = e.AppendField(block, f.name, f.value, ix)
				}
				wantFields(t, mustDecode(t, &ours, block), want)
				got, err := theirs.DecodeFull(block)
				if err != nil {
					t.Fatal(err)
				}
				wantFields(t, oracleFields(got), want)
				if e.t.size != ours.t.size || e.t.n != ours.t.n {
					t.Fatalf("tables of %d and %d octets", e.t.size, ours.t.size)
				}
			}
		})
	}
}

// The oracle's blocks mean to us what went in.
func TestDecodeAgainstOracle(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 2))
			var buf bytes.Buffer
			theirs := oracle.NewEncoder(&buf)
			allowed := uint32(rnd.IntN(20000))
			theirs.SetMaxDynamicTableSizeLimit(allowed)
			var ours Decoder
			ours.SetAllowedMaxTableSize(allowed)
			for range 150 {
				for range max(0, rnd.IntN(9)-6) {
					theirs.SetMaxDynamicTableSize(uint32(rnd.IntN(20000)))
				}
				buf.Reset()
				var want []field
				for range 1 + rnd.IntN(10) {
					f := randomField(rnd)
					want = append(want, f)
					hf := oracle.HeaderField{Name: f.name, Value: f.value, Sensitive: rnd.IntN(12) == 0}
					if err := theirs.WriteField(hf); err != nil {
						t.Fatal(err)
					}
				}
				wantFields(t, mustDecode(t, &ours, buf.Bytes()), want)
			}
		})
	}
}

// stricter reports errors that the oracle does not share, each for a reason of ours.
func stricter(err error) bool {
	// Section 5.1 leaves the limits to the implementation; ours are tighter.
	return errors.Is(err, errIntegerOverflow) ||
		// Section 4.2 wants updates at the start whatever the table holds.
		errors.Is(err, errLateUpdate)
}

// laterUpdate reports whether a block starts with more than one size update. The
// oracle refuses that unless its table is empty, where section 4.2 allows two.
func laterUpdate(block []byte) bool {
	r := reader{b: block}
	for n := 0; r.off < len(block) && block[r.off]&0xe0 == 0x20; n++ {
		if _, err := r.integer(5); err != nil || n > 0 {
			return n > 0
		}
	}
	return false
}

// FuzzDecode feeds the same two blocks to both decoders. The first octet picks the
// allowed table size, the second splits the rest.
func FuzzDecode(f *testing.F) {
	for _, ex := range rfcExamples {
		var all []byte
		for _, b := range ex.blocks {
			all = append(all, unhex(f, b.hex)...)
		}
		f.Add(byte(16), uint16(len(unhex(f, ex.blocks[0].hex))), all)
	}
	var e Encoder
	first := appendRequest(nil, &e, Incremental)
	f.Add(byte(16), uint16(len(first)), appendRequest(first, &e, NeverIndexed))
	for _, s := range []string{
		"3fe11f 82", "20 3fe11f 82", "8220", "3fe21f", "4001610162 be bf", "ffffffffff0f", "4082 1fff 00",
		"2040016101623fe11f", "20202020", "7e0161", "3f45 4001 61 85ffffffffff", "1f808080808000",
	} {
		f.Add(byte(16), uint16(2), unhex(f, s))
	}
	f.Fuzz(func(t *testing.T, size byte, cut uint16, data []byte) {
		var ours, limited, parts Decoder
		// The oracle owes no update after a reduction, so its table starts at
		// what it allows, and ours is made to.
		allowed := uint32(size) * 256
		for _, d := range []*Decoder{&ours, &limited, &parts} {
			d.SetAllowedMaxTableSize(allowed)
			d.t.max, d.owes = allowed, false
		}
		theirs := oracle.NewDecoder(allowed, nil)
		n := min(int(cut), len(data))
		for _, block := range [][]byte{data[:n], data[n:]} {
			var l, small List
			l.Reset(math.MaxUint32)
			small.Reset(100)
			err, smallErr := ours.Decode(block, &l), limited.Decode(block, &small)
			var joined List
			joined.Reset(math.MaxUint32)
			if partsErr := decodeParts(&parts, block, &joined, 1+int(cut)%7); fmt.Sprint(err) != fmt.Sprint(partsErr) {
				t.Fatalf("%x: error %v, in parts %v", block, err, partsErr)
			}
			want, wantErr := theirs.DecodeFull(block)
			if fmt.Sprint(err) != fmt.Sprint(smallErr) {
				t.Fatalf("%x: error %v, with a limit %v", block, err, smallErr)
			}
			if err == nil && laterUpdate(block) && wantErr != nil {
				return
			}
			if (err != nil) != (wantErr != nil) && !stricter(err) {
				t.Fatalf("%x: error %v, oracle %v", block, err, wantErr)
			}
			if err != nil {
				return
			}
			wantFields(t, fieldsOf(&l), oracleFields(want))
			wantFields(t, fieldsOf(&joined), oracleFields(want))
			compareLimited(t, &l, &small)
			if ours.t.size != limited.t.size || ours.t.gen != limited.t.gen || ours.t.size > ours.t.max {
				t.Fatalf("%x: tables of %d and %d octets", block, ours.t.size, limited.t.size)
			}
		}
	})
}

// decodeParts decodes a block in parts of size octets.
func decodeParts(d *Decoder, block []byte, l *List, size int) error {
	var cut []byte
	need := 0
	for len(block) > size {
		cut = append(cut, block[:size]...)
		block = block[size:]
		if len(cut) < need {
			continue
		}
		n, more, err := d.DecodePart(cut, l, true)
		if err != nil {
			return err
		}
		if cut, need = cut[n:], more; len(cut) > 0 && need <= len(cut) {
			return fmt.Errorf("%d octets needed beyond %d", need, len(cut))
		}
	}
	_, _, err := d.DecodePart(append(cut, block...), l, false)
	return err
}

// compareLimited checks that small is the start of l, up to small's limit.
func compareLimited(t *testing.T, l, small *List) {
	t.Helper()
	size, n := 0, 0
	for i := range l.Len() {
		if size += len(l.Name(i)) + len(l.Value(i)) + entryOverhead; size <= int(small.limit) {
			n++
		}
	}
	if l.Size() != size || small.Size() != size || small.TooLarge() != (n < l.Len()) {
		t.Fatalf("sizes %d and %d, want %d", l.Size(), small.Size(), size)
	}
	wantFields(t, fieldsOf(small), fieldsOf(l)[:n])
}

// FuzzRoundTrip encodes fields cut out of data, under table sizes cut out of it too.
func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("\x01\x05\x05:pathvalue\x01\x05\x05:pathvalue\x02\x04\x04nameword\x03\x04\x04nameword"))
	f.Add([]byte("\x00\x00\x10\x01\x02\x40aavalue\x04\x01\x02\x03abcdefg\x00\x10\x00\x05\x07\x04:status200"))
	f.Add([]byte("\x09\x00\x00\x01\x07\x04:methodPOST"))
	f.Fuzz(func(t *testing.T, data []byte) {
		take := func(n int) []byte {
			b := data[:min(n, len(data))]
			data = data[len(b):]
			return b
		}
		var e Encoder
		var ours Decoder
		theirs := oracle.NewDecoder(4096, nil)
		var want []field
		block := e.Begin(nil)
		for len(data) >= 3 {
			op := take(3)
			switch op[0] % 5 {
			case 0: // finish the block and start one under a new table size
				checkBlock(t, &ours, theirs, block, want)
				size := uint32(op[1])<<8 | uint32(op[2])
				e.SetMaxTableSize(size)
				ours.SetAllowedMaxTableSize(size)
				theirs.SetAllowedMaxDynamicTableSize(size)
				block, want = e.Begin(nil), nil
			case 1: // insert a large field
				v := strings.Repeat(string(op[1:2]), int(op[2])*8)
				block = e.AppendField(block, "large", v, Incremental)
				want = append(want, field{"large", v})
			default:
				ix := Indexing(op[0] % 5 % 3)
				name, value := string(take(int(op[1]))), string(take(int(op[2])))
				block = e.AppendField(block, name, value, ix)
				want = append(want, field{name, value})
			}
		}
		checkBlock(t, &ours, theirs, block, want)
		if e.t.size != ours.t.size || e.t.n != ours.t.n {
			t.Fatalf("tables of %d and %d octets", e.t.size, ours.t.size)
		}
	})
}

func checkBlock(t *testing.T, ours *Decoder, theirs *oracle.Decoder, block []byte, want []field) {
	t.Helper()
	wantFields(t, mustDecode(t, ours, block), want)
	got, err := theirs.DecodeFull(block)
	if err != nil {
		t.Fatalf("oracle on %x: %v", block, err)
	}
	wantFields(t, oracleFields(got), want)
}
