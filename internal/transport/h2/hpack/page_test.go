// SPDX-License-Identifier: Apache-2.0

package hpack

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"
)

func TestPageSizes(t *testing.T) {
	if n := unsafe.Sizeof(Page{}); n > pageStructSize {
		t.Errorf("a Page takes %d octets, more than %d", n, pageStructSize)
	}
	if n := unsafe.Sizeof(lent{}); n != lentSize {
		t.Errorf("lent takes %d octets, not %d", n, lentSize)
	}
}

// hoard is what an application keeps of blocks: about what package transport makes of them.
type hoard struct {
	text  int
	pages map[*Page]bool
}

func (h *hoard) keep(l *List) {
	for i := range l.Len() {
		ref, whole := l.Ref(i)
		h.text += numberSize(uint64(ref)<<1 | 1)
		if ref == 0 {
			h.text += numberSize(uint64(len(l.Name(i)))) + len(l.Name(i))
		}
		if !whole {
			h.text += numberSize(uint64(len(l.Value(i)))) + len(l.Value(i))
		}
	}
	if h.pages == nil {
		h.pages = make(map[*Page]bool)
	}
	for p := l.Pages(); p != nil && !h.pages[p]; p = p.Prev() {
		h.pages[p] = true
	}
}

func (h *hoard) size() int {
	n := h.text
	for p := range h.pages {
		n += p.Size()
	}
	return n
}

// miser makes blocks that are to cost much more than they have octets.
type miser struct {
	name, value int // octets
	fresh       int // insertions in a block
	refs        int // to each of these
	named       bool
	all         bool // refer to all entries instead
	freeze      bool
}

// block inserts entries and refers to them. Letters are such as Huffman's code has in 5 bits.
func (m miser) block(n int) (b []byte) {
	for i := range m.fresh {
		switch {
		case m.named && n > 0:
			b = appendInt(b, 0x40, 6, 62)
		default:
			b = appendString(append(b, 0x40), strings.Repeat("o", m.name))
		}
		value := []byte(strings.Repeat("a", m.value))
		for j := range min(4, len(value)) {
			value[j] = "aceiost012"[(n*m.fresh+i)>>(3*j)%8]
		}
		b = appendString(b, string(value))
		n++
	}
	there := min(n, 4096/(32+m.name+m.value))
	if m.all {
		for i := range min(65, there) {
			b = append(b, 0x80|byte(62+i))
		}
		return b
	}
	for i := range min(m.fresh, there) {
		b = append(b, bytes.Repeat([]byte{0x80 | byte(62+i)}, m.refs)...)
	}
	return b
}

// TestPagesFollowWhatIsSent: however blocks are made, what is kept of all of them is at most
// four times as large, and 4 KB.
func TestPagesFollowWhatIsSent(t *testing.T) {
	misers := []miser{
		{name: 1, value: 0, fresh: 30, refs: 1},
		{name: 1, value: 1, fresh: 30, refs: 2, named: true},
		{name: 30, value: 1, fresh: 20, refs: 1, named: true},
		{name: 100, value: 1, fresh: 10, refs: 1, named: true},
		{name: 3000, value: 1, fresh: 1, refs: 1, named: true},
		{name: 3000, value: 2, fresh: 1, refs: 40, named: true},
		{name: 1, value: 4, fresh: 1, all: true, named: true},
		{name: 14, value: 0, fresh: 1, all: true, named: true},
		{name: 3, value: 13, fresh: 1, all: true, named: true, freeze: true},
		{name: 1, value: 3, fresh: 20, refs: 1, named: true, freeze: true},
	}
	for _, n := range []int{8, 30, 60, 100, 120, 128, 200, 250, 256, 257, 300, 520, 700, 1000, 1366, 2040, 4000} {
		misers = append(misers, miser{name: 1, value: n, fresh: 1, refs: 1}, miser{name: 1, value: n, fresh: 1, refs: 1, named: true, freeze: true},
			miser{name: 1, value: n, fresh: 3, refs: 1, named: true}, miser{name: n, value: 1, fresh: 1, refs: 1, freeze: true})
	}
	for _, m := range misers {
		t.Run(fmt.Sprintf("%+v", m), func(t *testing.T) {
			var d Decoder
			var l List
			var h hoard
			sent, n := 0, 0
			for sent < 60<<10 {
				b := m.block(n)
				n += m.fresh
				sent += len(b)
				l.Reset(math.MaxUint32)
				if err := d.Decode(b, &l); err != nil {
					t.Fatal(err)
				}
				h.keep(&l)
				if m.freeze {
					k := d.Keep()
					d.Thaw(d.Freeze(), nil)
					d.Restore(k)
				}
			}
			t.Logf("%.2f times what was sent, %d pages", float64(h.size())/float64(sent), len(h.pages))
			if h.size() > 4*sent+4<<10 {
				t.Errorf("%d octets are kept for %d that were sent", h.size(), sent)
			}
		})
	}
}

// TestPagesAreTurned: who keeps nothing has the decoder keep no more than a few tables.
func TestPagesAreTurned(t *testing.T) {
	var d Decoder
	var l List
	for n := range 10000 {
		l.Reset(math.MaxUint32)
		if err := d.Decode(miser{name: 10, value: 50, fresh: 2, refs: 1}.block(2*n), &l); err != nil {
			t.Fatal(err)
		}
		held := 0
		for p := d.Pages(); p != nil; p = p.Prev() {
			held += p.Size()
		}
		if held > 25<<10 {
			t.Fatalf("%d octets of pages after %d blocks", held, n)
		}
	}
}

// TestReferencesStayGood keeps lists' references while the decoder goes on, is frozen and
// thawed, and its table evicts what they are to.
func TestReferencesStayGood(t *testing.T) {
	type kept struct {
		refs   []uint32
		pages  *Page
		fields []field
	}
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		var e Encoder
		var d Decoder
		var l List
		var all []kept
		for range 300 {
			block := e.Begin(nil)
			for range rnd.IntN(12) {
				f := randomField(rnd)
				block = e.AppendField(block, f.name, f.value, Indexing(rnd.IntN(3)))
			}
			l.Reset(math.MaxUint32)
			if err := d.Decode(block, &l); err != nil {
				t.Fatal(err)
			}
			k := kept{pages: l.Pages()}
			for i, f := range fieldsOf(&l) {
				if ref, whole := l.Ref(i); whole {
					k.refs, k.fields = append(k.refs, ref), append(k.fields, f)
				} else if ref != 0 && string(Name(ref, l.Pages())) != f.name {
					t.Fatalf("name %q, want %q", Name(ref, l.Pages()), f.name)
				}
			}
			all = append(all, k)
			if rnd.IntN(10) == 0 {
				kept := d.Keep()
				if rnd.IntN(2) == 0 {
					kept = nil
				}
				frozen := d.Freeze()
				d.Reset(nil)
				d.Thaw(frozen, nil)
				d.Restore(kept)
			}
		}
		for _, k := range all {
			for i, ref := range k.refs {
				name, value := string(Name(ref, k.pages)), string(Value(ref, k.pages))
				if f := k.fields[i]; name != f.name || value != f.value {
					t.Fatalf("seed %d: %q: %q, want %q: %q", seed, name, value, f.name, f.value)
				}
			}
		}
	}
}

// TestNameInLaterPage: an entry goes to an older page than its name, which came with a value that
// got a page of its own.
func TestNameInLaterPage(t *testing.T) {
	var e Encoder
	var d Decoder
	for _, f := range []field{
		{name: "a", value: "x"},
		{name: "b", value: "y"},
		{name: "token", value: strings.Repeat("t", 300)},
		{name: "token", value: "short"},
	} {
		for range 3 { // inserted, then referred to
			block := e.AppendField(e.Begin(nil), f.name, f.value, Incremental)
			wantFields(t, mustDecode(t, &d, block), []field{f})
		}
	}
}

// TestFlaws: what a value is found to be does not depend on how it came.
func TestFlaws(t *testing.T) {
	looked := 0
	kinds := NewKinds(func([]byte) uint8 { return 0 }, func(v []byte) bool {
		looked++
		return bytes.IndexByte(v, '!') >= 0
	})
	var d Decoder
	d.SetKinds(kinds)
	var e Encoder
	for round := range 3 {
		block := e.Begin(nil)
		for _, v := range []string{"good", "bad!", "a!", "good"} {
			block = e.AppendField(block, "name", v, Incremental)
			block = e.AppendField(block, "name", v, NeverIndexed)
		}
		var l List
		l.Reset(math.MaxUint32)
		looked = 0
		if err := d.Decode(block, &l); err != nil {
			t.Fatal(err)
		}
		for i := range l.Len() {
			if want := bytes.IndexByte(l.Value(i), '!') >= 0; l.Flawed(i) != want {
				t.Errorf("round %d: %q is flawed: %v", round, l.Value(i), !want)
			}
		}
		if round == 2 && looked > 4 {
			t.Errorf("%d looks at values", looked)
		}
		k := d.Keep()
		d.Thaw(d.Freeze(), kinds)
		if round == 1 {
			d.Restore(k)
		}
	}
}
