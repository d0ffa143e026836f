// SPDX-License-Identifier: Apache-2.0

package hpack

import (
	"errors"
	"math"
	"strings"
	"testing"

	oracle "golang.org/x/net/http2/hpack"
)

// TestDecodeRefusals: what breaks a block, by section of RFC 7541.
func TestDecodeRefusals(t *testing.T) {
	for _, tc := range []struct {
		name   string
		hex    string
		offset int
		want   error
	}{
		{"6.1 index 0", "8280", 1, errIndexZero},
		{"2.3.3 index past the static table", "be", 0, errIndexTooLarge},
		{"2.3.3 index past the dynamic table", "4001610162 be bf", 6, errIndexTooLarge},
		{"2.3.3 huge index", "ff80feffff0f", 0, errIndexTooLarge},
		{"2.3.3 name index past the table", "7e0161", 0, errIndexTooLarge},
		{"5.1 index overflow", "ffffffffff7f", 0, errIntegerOverflow},
		{"6.2 no name", "40", 0, errTruncated},
		{"5.2 short name", "400561", 0, errTruncated},
		{"6.2 no value", "82 400161", 1, errTruncated},
		{"5.2 short value", "4001617f80", 0, errTruncated},
		{"5.2 long declared value", "4001617f80feffff0f", 0, errTruncated},
		{"4.2 update after a field", "82 20", 1, errLateUpdate},
		{"4.2 update between updates and after a field", "20 82 20", 2, errLateUpdate},
		{"6.3 update above the maximum", "3fe21f", 0, errUpdateTooLarge}, // 4097
		{"6.3 truncated update", "3f", 0, errTruncated},
		{"5.2 Huffman value with EOS", "4001 61 84ffffffff", 0, errHuffmanEOS},
		{"5.2 Huffman name with padding", "4082 1fff 00", 0, errHuffmanPadding},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, limit := range []uint32{0, math.MaxUint32} {
				var d Decoder
				var l List
				l.Reset(limit)
				err := d.Decode(unhex(t, tc.hex), &l)
				wantReason(t, err, tc.want)
				var e *Error
				if !errors.As(err, &e) || e.Offset != tc.offset {
					t.Errorf("%v: want offset %d", err, tc.offset)
				}
				if !strings.Contains(err.Error(), tc.want.Error()) {
					t.Errorf("text %q", err)
				}
			}
		})
	}
}

// TestOwedSizeUpdate: section 4.2 of RFC 7541.
func TestOwedSizeUpdate(t *testing.T) {
	for _, tc := range []struct {
		name    string
		allowed []uint32
		hex     string
		want    error
	}{
		{"raised", []uint32{8192}, "82", nil},
		{"raised and used", []uint32{8192}, "3fe13f 82", nil},
		{"raised and overdone", []uint32{8192}, "3fe23f 82", errUpdateTooLarge},
		{"reduced and ignored", []uint32{100}, "82", errUpdateMissing},
		{"reduced and ignored by no fields", []uint32{100}, "", errUpdateMissing},
		{"reduced and obeyed", []uint32{100}, "3f45 82", nil},
		{"reduced and more than obeyed", []uint32{100}, "20 82", nil},
		{"reduced and not enough", []uint32{100}, "3f46 82", errUpdateTooLarge},
		{"reduced, raised and obeyed", []uint32{0, 100}, "20 3f45 82", nil},
		{"reduced, raised, the low point missing", []uint32{0, 100}, "3f45 82", errUpdateTooLarge},
		{"reduced, raised and ignored", []uint32{0, 4096}, "82", errUpdateMissing},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var d Decoder
			var l List
			l.Reset(math.MaxUint32)
			for _, n := range tc.allowed {
				d.SetAllowedMaxTableSize(n)
			}
			wantReason(t, d.Decode(unhex(t, tc.hex), &l), tc.want)
			if tc.want == nil {
				// A debt is paid once.
				mustDecode(t, &d, []byte{0x82})
			}
		})
	}
}

// No reduction below what the peer already said it uses needs a further update.
func TestNoUpdateOwedBelowUse(t *testing.T) {
	var d Decoder
	mustDecode(t, &d, unhex(t, "3f45 82")) // 100
	d.SetAllowedMaxTableSize(200)
	mustDecode(t, &d, []byte{0x82})
	d.SetAllowedMaxTableSize(99)
	var l List
	l.Reset(100)
	wantReason(t, d.Decode([]byte{0x82}, &l), errUpdateMissing)
}

// The name that an insertion refers to may be the one that it evicts.
func TestInsertEvictsItsName(t *testing.T) {
	var e Encoder
	var d Decoder
	e.SetMaxTableSize(100)
	block := e.AppendField(e.Begin(nil), "some-name", "1", Incremental)
	value := strings.Repeat("v", 50)
	block = e.AppendField(block, "some-name", value, Incremental)
	block = e.AppendField(block, "some-name", value, Incremental)
	wantFields(t, mustDecode(t, &d, block), []field{
		{"some-name", "1"}, {"some-name", value}, {"some-name", value},
	})
	if d.t.n != 1 || block[len(block)-1] != 0x80|62 {
		t.Errorf("%d entries, block %x", d.t.n, block)
	}
}

func TestOversizeEntryEmptiesTable(t *testing.T) {
	var d Decoder
	mustDecode(t, &d, unhex(t, "4001610162"))
	gen := d.Generation()
	big := appendString(append([]byte{0x40}, 1, 'c'), strings.Repeat("\xff", 5000))
	for _, limit := range []uint32{10, math.MaxUint32} {
		var l List
		l.Reset(limit)
		if err := d.Decode(big, &l); err != nil {
			t.Fatal(err)
		}
		if d.t.n != 0 || d.t.size != 0 || d.Generation() == gen {
			t.Errorf("%d entries left", d.t.n)
		}
		if l.TooLarge() != (limit == 10) || l.Size() != 5033 {
			t.Errorf("size %d, too large: %v", l.Size(), l.TooLarge())
		}
	}
}

func TestKinds(t *testing.T) {
	names := []string{":path", ":path", "grpc-timeout", "x-a", "grpc-timeout", "x-a"}
	var e Encoder
	block := e.Begin(nil)
	for _, n := range names {
		block = e.AppendField(block, n, "v", Incremental)
	}
	block = e.AppendField(block, ":status", "404", NeverIndexed)
	custom := NewKinds(func(name []byte) uint8 {
		switch string(name) {
		case ":path":
			return 200
		case "grpc-timeout":
			return 201
		}
		return 0
	}, nil)
	for _, tc := range []struct {
		kinds *Kinds
		want  []uint8
	}{
		{nil, []uint8{4, 4, 0, 0, 0, 0, 8}},
		{custom, []uint8{200, 200, 201, 0, 201, 0, 0}},
	} {
		var d Decoder
		var l List
		d.SetKinds(tc.kinds)
		l.Reset(math.MaxUint32)
		if err := d.Decode(block, &l); err != nil {
			t.Fatal(err)
		}
		for i, want := range tc.want {
			if got := l.Kind(i); got != want {
				t.Errorf("kind of %q is %d, want %d", l.Name(i), got, want)
			}
		}
	}
	for i := 1; i <= staticLen; i++ {
		var d Decoder
		var l List
		l.Reset(math.MaxUint32)
		if err := d.Decode([]byte{0x80 | byte(i)}, &l); err != nil {
			t.Fatal(err)
		}
		want, _ := oracle.NewDecoder(0, nil).DecodeFull([]byte{0x80 | byte(i)})
		wantFields(t, fieldsOf(&l), oracleFields(want))
		if k := l.Kind(0); int(k) > i || staticFields[k][0] != want[0].Name {
			t.Errorf("static field %d has kind %d", i, k)
		}
	}
}

// A block that a caller skips because the generation is the one it was decoded at
// must have no effect.
func TestDecoderGeneration(t *testing.T) {
	var d Decoder
	step := func(what, hex string, changes bool) {
		t.Helper()
		gen := d.Generation()
		mustDecode(t, &d, unhex(t, hex))
		if (d.Generation() != gen) != changes {
			t.Errorf("%s: generation %d, was %d", what, d.Generation(), gen)
		}
	}
	step("static", "82", false)
	step("literal", "0001610162", false)
	step("insertion", "4001610162", true)
	step("dynamic", "be", false)
	step("new maximum", "3f45", true)
	step("same maximum", "3f45", false)
	gen := d.Generation()
	d.SetAllowedMaxTableSize(50)
	if d.Generation() == gen {
		t.Error("owing an update did not change the generation")
	}
}
