// SPDX-License-Identifier: Apache-2.0

package hpack

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"
)

func TestFieldSizes(t *testing.T) {
	if n := unsafe.Sizeof(Field{}); n > 24 {
		t.Errorf("a Field takes %d octets, more than 24", n)
	}
	if n := unsafe.Sizeof(interned{}); n > internedSize {
		t.Errorf("interned takes %d octets, more than %d", n, internedSize)
	}
	for n := range 9000 {
		if real := cap(append([]byte(nil), make([]byte, n)...)); allocated(n) < real {
			t.Fatalf("%d octets are said to take %d, and take %d", n, allocated(n), real)
		}
	}
}

// keeper is what an application keeps of blocks: about what package transport makes of them.
type keeper struct {
	size   int
	fields map[*Field]bool
}

func (k *keeper) keep(l *List) {
	for i := range l.Len() {
		f, whole := l.Field(i)
		static, _ := l.Static(i)
		k.size += 2
		switch {
		case f != nil:
			k.size += int(unsafe.Sizeof(f))
		case static == 0:
			k.size += len(l.Name(i))
		}
		if !whole {
			k.size += len(l.Value(i))
		}
		if f != nil && !k.fields[f] {
			k.fields[f] = true
			k.size += f.Size()
		}
	}
}

// miser makes blocks that are to cost much more than they have octets.
type miser struct {
	name, value int // octets
	fresh       int // insertions in a block
	refs        int // to each of these
	named       bool
	all         bool // refer to all entries instead
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

// TestFieldsFollowWhatIsSent: however blocks are made, what is kept of all of them is at most
// three times their size as SETTINGS_MAX_HEADER_LIST_SIZE counts it, and 48 times their octets. (A name that
// fields share counts with each of them.)
func TestFieldsFollowWhatIsSent(t *testing.T) {
	misers := []miser{
		{name: 1, value: 0, fresh: 30, refs: 1},
		{name: 1, value: 1, fresh: 30, refs: 2, named: true},
		{name: 30, value: 1, fresh: 20, refs: 1, named: true},
		{name: 3000, value: 1, fresh: 1, refs: 1},
		{name: 3000, value: 2, fresh: 1, refs: 40},
		{name: 1, value: 4, fresh: 1, all: true, named: true},
		{name: 14, value: 0, fresh: 1, all: true, named: true},
		{name: 3, value: 13, fresh: 1, all: true, named: true},
	}
	for _, n := range []int{8, 30, 60, 100, 120, 128, 200, 250, 256, 257, 300, 520, 700, 1000, 1366, 2040, 4000} {
		misers = append(misers, miser{name: 1, value: n, fresh: 1, refs: 1},
			miser{name: 1, value: n, fresh: 3, refs: 1, named: true}, miser{name: n, value: 1, fresh: 1, refs: 1})
	}
	for _, m := range misers {
		t.Run(fmt.Sprintf("%+v", m), func(t *testing.T) {
			var d Decoder
			var l List
			k := keeper{fields: make(map[*Field]bool)}
			sent, listed, n := 0, 0, 0
			for sent < 60<<10 {
				b := m.block(n)
				n += m.fresh
				sent += len(b)
				l.Reset(math.MaxUint32)
				if err := d.Decode(b, &l); err != nil {
					t.Fatal(err)
				}
				listed += l.Size()
				k.keep(&l)
			}
			t.Logf("%.2f times what was sent, %.2f times the lists' sizes, %d fields",
				float64(k.size)/float64(sent), float64(k.size)/float64(listed), len(k.fields))
			if k.size > 48*sent || k.size > 3*listed {
				t.Errorf("%d octets are kept for %d that were sent, lists of %d", k.size, sent, listed)
			}
		})
	}
}

// TestTextsAreShared: decoders whose peers say the same share short names and values, and no long ones.
func TestTextsAreShared(t *testing.T) {
	for value, want := range map[string]bool{"short": true, strings.Repeat("v", maxSharedText): false} {
		var fields [2]*Field
		for i := range fields {
			var d Decoder
			var l List
			l.Reset(math.MaxUint32)
			block := appendString(appendString([]byte{0x40}, "shared-by-two"), value)
			if err := d.Decode(append(block, 0x80|62), &l); err != nil {
				t.Fatal(err)
			}
			fields[i], _ = l.Field(1)
		}
		if is := fields[0].text == fields[1].text; is != want || fields[0] == fields[1] {
			t.Errorf("a value of %d octets is shared: %t", len(value), is)
		}
	}
}

// TestNamesAreShared: fields that are named after one another have one name, even when all but
// the last are gone from the table.
func TestNamesAreShared(t *testing.T) {
	var d Decoder
	var l List
	l.Reset(math.MaxUint32)
	block := appendString(appendString([]byte{0x40}, strings.Repeat("n", 3000)), "0")
	for range 100 {
		block = appendString(append(block, 0x40|62), "x")
	}
	block = append(block, 0x80|62)
	if err := d.Decode(block, &l); err != nil {
		t.Fatal(err)
	}
	first, _ := l.Field(1)
	for i := 1; i < l.Len(); i++ {
		if f, _ := l.Field(i); unsafe.StringData(f.Name()) != unsafe.StringData(first.Name()) {
			t.Fatalf("field %d has a name of its own", i)
		}
	}
}

// TestListReleasesFields: a list that is reset keeps none of what its last block referred to.
func TestListReleasesFields(t *testing.T) {
	var d Decoder
	var l List
	mustDecode(t, &d, appendString(appendString([]byte{0x40}, "name"), strings.Repeat("v", 2000)))
	l.Reset(math.MaxUint32)
	if err := d.Decode([]byte{0x80 | 62}, &l); err != nil {
		t.Fatal(err)
	}
	f, _ := l.Field(0)
	freed := make(chan struct{})
	runtime.AddCleanup(f, func(struct{}) { close(freed) }, struct{}{})
	l.Reset(0)
	d.Rest()
	late := time.After(20 * time.Second)
	for {
		runtime.GC()
		select {
		case <-freed:
			runtime.KeepAlive(&l)
			runtime.KeepAlive(&d)
			return
		case <-late:
			t.Fatal("the field is still there")
		default:
		}
	}
}

// TestShortAfterLong: short values come after long ones of the same name, and are referred to.
func TestShortAfterLong(t *testing.T) {
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
		if round == 1 && looked > 4+3 || round == 2 && looked > 4 {
			t.Errorf("%d looks at values", looked)
		}
	}
}
