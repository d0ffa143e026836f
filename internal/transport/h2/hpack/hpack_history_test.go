// SPDX-License-Identifier: Apache-2.0

package hpack

import (
	goflag "flag"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	oracle "golang.org/x/net/http2/hpack"

	"google.golang.org/grpc/internal/testutils"
)

// Histories: a few connections live as long as connections do, on fewer decoders, and what was
// taken of their blocks is looked at again at the end. A history is a list of steps, each read
// from a source of octets: random ones, or a fuzzer's.

var histories = goflag.Int("histories", 150, "how many histories TestHistories runs")

// historyLengths are those of names and values: around every boundary that the code has, or had.
var historyLengths = []int{0, 1, 2, 15, 16, 31, 32, 33, 63, 64, 65, 126, 127, 128, 240, 252, 255, 256, 257, 260, 1023, 2048, 4030, 4063, 4064, 4065, 4095, 4096, 4097}

// steps is where a history comes from.
type steps interface {
	// intN returns a number below n; 0 when the source is used up.
	intN(n int) int
	more() bool
}

type randomSteps struct {
	rnd  *rand.Rand
	left int
}

func (s *randomSteps) intN(n int) int { return s.rnd.IntN(n) }
func (s *randomSteps) more() bool     { s.left--; return s.left >= 0 }

type fuzzedSteps []byte

func (s *fuzzedSteps) more() bool { return len(*s) > 0 }

func (s *fuzzedSteps) intN(n int) int {
	v := 0
	for span := 1; span < n && len(*s) > 0; span <<= 8 {
		v = v<<8 | int((*s)[0])
		*s = (*s)[1:]
	}
	return v % n
}

// historyConn is one connection: what its peer says, and the models of what that means.
type historyConn struct {
	table   []field // the peer's dynamic table, newest first
	max     int
	allowed int // as our acknowledged SETTINGS say
	owes    bool
	low     int // the least that was allowed since the last block

	theirs *oracle.Decoder
	frozen Frozen
	kept   Kept
	on     *Decoder // nil: frozen
	kinds  *Kinds
}

type history struct {
	t     testing.TB
	steps steps
	conns []*historyConn
	pool  []*Decoder
	taken []taken
	lists []heldList
}

// taken is what somebody keeps of a field.
type taken struct {
	field *Field
	want  field
	whole bool
}

// heldList is a list that is looked at again at the end.
type heldList struct {
	list *List
	want []field
}

var historyKinds = []*Kinds{
	NewKinds(func(n []byte) uint8 { return uint8(len(n)) }, func(v []byte) bool { return len(v)%3 == 1 }),
	NewKinds(func(n []byte) uint8 { return uint8(3 * len(n)) }, nil),
}

func runHistory(t testing.TB, s steps) {
	h := &history{t: t, steps: s, pool: []*Decoder{{}, {}, {}}}
	for range 2 + s.intN(4) {
		h.conns = append(h.conns, h.newConn())
	}
	for s.more() {
		i := s.intN(len(h.conns))
		c := h.conns[i]
		switch n := s.intN(40); {
		case n == 0: // it ends, perhaps within a block, and another takes its place
			if c.on != nil {
				_, _, _ = c.on.DecodePart([]byte{0x82, 0x40, 3, 'x'}, new(List), true)
				c.on.Rest()
			}
			h.conns[i] = h.newConn()
		case n <= 2:
			h.allow(c, []int{0, 40, 100, 600, 4096, 9000}[s.intN(6)])
		case n <= 12:
			h.freeze(c)
		default:
			h.block(c)
		}
	}
	h.lookAgain()
}

func (h *history) newConn() *historyConn {
	return &historyConn{max: 4096, allowed: 4096, low: 4096, theirs: oracle.NewDecoder(4096, nil), kinds: historyKinds[h.steps.intN(2)]}
}

// allow changes the bound on the peer's table, which it obeys in its next block.
func (h *history) allow(c *historyConn, n int) {
	h.thaw(c)
	c.on.SetAllowedMaxTableSize(uint32(n))
	c.theirs.SetAllowedMaxDynamicTableSize(uint32(n))
	c.owes = c.owes || n < c.max
	c.low = min(c.low, n)
	c.allowed = n
}

func (h *history) freeze(c *historyConn) {
	if c.on != nil {
		c.frozen, c.kept = c.on.Freeze(), nil
		if h.steps.intN(3) > 0 {
			c.kept = c.on.Keep()
		}
		c.on.Rest()
		c.on = nil
	}
}

// thaw gives c a decoder, in which another connection may be.
func (h *history) thaw(c *historyConn) {
	if c.on != nil {
		return
	}
	d := h.pool[h.steps.intN(len(h.pool))]
	for _, other := range h.conns {
		if other.on == d {
			h.freeze(other)
		}
	}
	if c.on = d; c.frozen.IsNew() {
		d.Reset(c.kinds)
	} else {
		d.Thaw(c.frozen, c.kinds)
		d.Restore(c.kept)
	}
}

// block has c's peer send a block, which our decoder and the oracle read.
func (h *history) block(c *historyConn) {
	h.thaw(c)
	b := h.sizeUpdate(c, nil)
	var want []field
	for range h.steps.intN(7) {
		var f field
		b, f = h.representation(c, b)
		want = append(want, f)
	}
	l := new(List)
	l.Reset(math.MaxUint32)
	if err := h.decode(c.on, b, l); err != nil {
		h.t.Fatalf("block %.200x: %v", b, err)
	}
	theirs, err := c.theirs.DecodeFull(b)
	if err != nil {
		h.t.Fatalf("the oracle: block %.200x: %v", b, err)
	}
	wantFields(h.t, oracleFields(theirs), want)
	wantFields(h.t, fieldsOf(l), want)
	h.take(c, l, want)
}

// decode decodes b whole or in parts.
func (h *history) decode(d *Decoder, b []byte, l *List) error {
	if len(b) > 0 && h.steps.intN(4) == 0 {
		return decodeParts(d, b, l, 1+h.steps.intN(len(b)))
	}
	return d.Decode(b, l)
}

func (h *history) sizeUpdate(c *historyConn, b []byte) []byte {
	if !c.owes && h.steps.intN(30) > 0 {
		return b
	}
	// One update has to do: the oracle takes a second one for a late one.
	c.max = h.steps.intN(c.low + 1)
	c.owes, c.low = false, c.allowed
	c.evict(0)
	return appendInt(b, 0x20, 5, uint32(c.max))
}

// evict makes room for n octets.
func (c *historyConn) evict(n int) {
	size := n
	for i, f := range c.table {
		if size += len(f.name) + len(f.value) + entryOverhead; size > c.max {
			c.table = c.table[:i]
			return
		}
	}
}

func (c *historyConn) insert(f field) {
	n := len(f.name) + len(f.value) + entryOverhead
	if c.evict(n); n <= c.max {
		c.table = slices.Insert(c.table, 0, field{name: f.name, value: f.value})
	}
}

// at is the field of index i in both tables.
func (c *historyConn) at(i int) field {
	if i <= staticLen {
		return field{name: staticFields[i][0], value: staticFields[i][1]}
	}
	return c.table[i-staticLen-1]
}

// index is one of both tables, mostly a young entry of the dynamic one.
func (h *history) index(c *historyConn) int {
	switch n := h.steps.intN(8); {
	case n == 0 || len(c.table) == 0:
		return 1 + h.steps.intN(staticLen)
	case n < 5:
		return staticLen + 1 + h.steps.intN(min(len(c.table), 3))
	}
	return staticLen + 1 + h.steps.intN(len(c.table))
}

func (h *history) representation(c *historyConn, b []byte) ([]byte, field) {
	if h.steps.intN(2) == 0 {
		i := h.index(c)
		return appendInt(b, 0x80, 7, uint32(i)), c.at(i)
	}
	ix := []Indexing{Incremental, Incremental, WithoutIndexing, NeverIndexed}[h.steps.intN(4)]
	form := literalForms[ix]
	var f field
	if h.steps.intN(3) > 0 {
		i := h.index(c)
		b, f.name = appendInt(b, form.pattern, form.prefix, uint32(i)), c.at(i).name
	} else {
		b = appendInt(b, form.pattern, form.prefix, 0)
		b, f.name = h.string(b, "nm")
	}
	b, f.value = h.string(b, "vw")
	if ix == Incremental {
		c.insert(f)
	}
	return b, f
}

// string appends a string literal, in Huffman's code or not.
func (h *history) string(b []byte, letters string) ([]byte, string) {
	n := h.steps.intN(2 * len(historyLengths))
	if n < len(historyLengths) {
		n = historyLengths[n]
	}
	s := strings.Repeat(letters[h.steps.intN(2):][:1], n)
	if h.steps.intN(2) == 0 {
		return append(appendInt(b, 0, 7, uint32(len(s))), s...), s
	}
	return appendString(b, s), s
}

// take keeps some of what l has, and looks at the rest of what it says.
func (h *history) take(c *historyConn, l *List, want []field) {
	for i, w := range want {
		if kind := c.kinds.of([]byte(w.name)); l.Kind(i) != kind {
			h.t.Fatalf("%v has kind %d, want %d", w, l.Kind(i), kind)
		}
		static, whole := l.Static(i)
		if flawed := c.kinds.isFlawed([]byte(w.value)); l.Flawed(i) != flawed && !(static != 0 && whole) {
			h.t.Fatalf("%v is flawed: %v", w, l.Flawed(i))
		}
		if f, whole := l.Field(i); f != nil {
			h.taken = append(h.taken, taken{f, w, whole})
			f.Holders += int32(h.steps.intN(2))
		}
	}
	if h.steps.intN(4) == 0 {
		h.lists = append(h.lists, heldList{l, want})
	}
}

func (h *history) lookAgain() {
	for _, k := range h.taken {
		if k.field.Name() != k.want.name || k.whole && k.field.Value() != k.want.value {
			h.t.Fatalf("%.60q: %.60q, want %v", k.field.Name(), k.field.Value(), k.want)
		}
	}
	for _, l := range h.lists {
		wantFields(h.t, fieldsOf(l.list), l.want)
	}
}

func TestHistories(t *testing.T) {
	var wg sync.WaitGroup
	for worker := range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed := worker; seed < testutils.Rounds(*histories) && !t.Failed(); seed += runtime.GOMAXPROCS(0) {
				steps := 400
				if seed%100 == 0 { // one that lives long
					steps = 10_000
				}
				runHistory(seeded{t, seed}, &randomSteps{rand.New(rand.NewPCG(uint64(seed), 5)), steps})
			}
		})
	}
	wg.Wait()
}

// seeded names the seed of a history that fails.
type seeded struct {
	testing.TB
	seed int
}

func (s seeded) Fatalf(format string, args ...any) {
	s.Errorf("seed %d: "+format, append([]any{s.seed}, args...)...)
	runtime.Goexit()
}

func FuzzHistory(f *testing.F) {
	for seed := range uint64(8) {
		rnd := rand.New(rand.NewPCG(seed, 6))
		b := make([]byte, 600)
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := fuzzedSteps(b)
		runHistory(t, &s)
	})
}
