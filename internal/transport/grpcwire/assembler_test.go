// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// plain is a message in the form the tests compare.
type plain struct {
	data       string
	compressed bool
}

// naive is the oracle: it parses a whole stream at once, up to the first error.
func naive(wire []byte, limit uint32) (messages []plain, rest int, bad bool) {
	for len(wire) >= PrefixLen {
		size := binary.BigEndian.Uint32(wire[1:])
		if wire[0] > 1 || size > limit {
			return messages, 0, true
		}
		if uint64(len(wire)-PrefixLen) < uint64(size) {
			break
		}
		messages = append(messages, plain{string(wire[PrefixLen:][:size]), wire[0] == 1})
		wire = wire[PrefixLen+int(size):]
	}
	return messages, len(wire), false
}

// ledger is a pool that knows what is lent, and spoils what comes back.
type ledger struct {
	t    testing.TB
	lent map[*[]byte]int
	most int // the largest buffer ever asked for
}

func newLedger(t testing.TB) *ledger { return &ledger{t: t, lent: map[*[]byte]int{}} }

func (l *ledger) Get(n int) *[]byte {
	b := make([]byte, n, n+n/2)
	l.lent[&b] = n
	l.most = max(l.most, n)
	return &b
}

func (l *ledger) Put(b *[]byte) {
	if _, ok := l.lent[b]; !ok {
		l.t.Error("a buffer was put back that was not lent")
	}
	delete(l.lent, b)
	for i := range (*b)[:cap(*b)] {
		(*b)[:cap(*b)][i] = 0xdb
	}
}

func (l *ledger) total() (n int) {
	for _, size := range l.lent {
		n += size
	}
	return n
}

// drive feeds wire to a in DATA payloads of the sizes that next returns, through Space
// and Filled, each Space filled in pieces of at most gulp bytes.
func drive(t testing.TB, a *Assembler, wire []byte, gulp int, next func() (payload, ahead int)) (messages []plain, err error) {
	t.Helper()
	for len(wire) > 0 {
		payload, ahead := next()
		payload = min(max(payload, 1), len(wire))
		for payload > 0 {
			space := a.Space(payload, max(ahead, 1))
			if len(space) == 0 || len(space) > payload {
				t.Fatalf("Space(%d) has %d bytes", payload, len(space))
			}
			n := copy(space[:min(len(space), gulp)], wire)
			wire, payload = wire[n:], payload-n
			m, complete, err := a.Filled(n)
			if err != nil {
				return messages, err
			}
			if complete == a.InMessage() {
				t.Fatalf("complete is %v, InMessage too", complete)
			}
			if complete {
				messages = append(messages, take(t, m))
			}
		}
	}
	return messages, nil
}

func take(t testing.TB, m Message) plain {
	t.Helper()
	if m.Data.IsZero() {
		t.Fatal("a message has no Data")
	}
	if m.Len != len(m.Data.ReadOnlyData()) {
		t.Fatalf("Len %d, Data %d", m.Len, len(m.Data.ReadOnlyData()))
	}
	p := plain{string(m.Data.ReadOnlyData()), m.Compressed}
	m.Data.Free()
	return p
}

func same(t testing.TB, got, want []plain) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d messages, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("message %d: got %d bytes, compressed %v; want %d, %v", i,
				len(got[i].data), got[i].compressed, len(want[i].data), want[i].compressed)
		}
	}
}

func appendMessage(wire []byte, compressed bool, n int) []byte {
	wire = appendPrefix(wire, compressed, uint32(n))
	for i := range n {
		wire = append(wire, byte(i*7+n))
	}
	return wire
}

func TestAssemblerEverySplit(t *testing.T) {
	var wire []byte
	for i, n := range []int{0, 1, 40, 41, 0, 0, 7, 105} {
		wire = appendMessage(wire, i%2 == 1, n)
	}
	want, rest, bad := naive(wire, math.MaxUint32)
	if rest != 0 || bad {
		t.Fatal("the oracle disagrees with the test")
	}
	pool := newLedger(t)
	for first := 1; first < len(wire); first++ {
		for second := first; second < len(wire); second++ {
			cuts := []int{first, second - first, len(wire)}
			var a Assembler
			a.Init(new(mem.BufferPool(pool)), 1000)
			got, err := drive(t, &a, wire, math.MaxInt, func() (int, int) {
				n := cuts[0]
				cuts = cuts[1:]
				if n == 0 {
					n, cuts = cuts[0], cuts[1:]
				}
				return n, n
			})
			if err != nil || a.InMessage() || a.End() != nil {
				t.Fatalf("cut at %d and %d: %v", first, second, err)
			}
			same(t, got, want)
		}
	}
	if len(pool.lent) != 0 {
		t.Errorf("%d buffers leaked", len(pool.lent))
	}
}

// Sizes around every boundary of the buffers, in frames of several sizes.
func TestAssemblerSizes(t *testing.T) {
	sizes := []int{0, 1, 39, 40, 41, 104, 105, 232, 233, 488, 489, 1023, 1024, 1025, 4095, 4096, 4097, 16383, 16384, 16385, 65536, 100_000, 300_000}
	var wire []byte
	for i, n := range sizes {
		wire = appendMessage(wire, i%3 == 0, n)
	}
	want, _, _ := naive(wire, math.MaxUint32)
	for _, upFront := range []int{0, 1, 16384, math.MaxInt} {
		for _, payload := range []int{1, 7, 1000, 16384, len(wire)} {
			for _, gulp := range []int{1, 3000, math.MaxInt} {
				if min(payload, gulp) == 1 && upFront != 1 {
					continue // slow, and nearly the same for every upFront
				}
				pool := newLedger(t)
				var a Assembler
				a.Init(new(mem.BufferPool(pool)), math.MaxInt)
				got, err := drive(t, &a, wire, gulp, func() (int, int) { return payload, upFront })
				if err != nil {
					t.Fatal(err)
				}
				same(t, got, want)
				if len(pool.lent) != 0 {
					t.Errorf("%d buffers leaked", len(pool.lent))
				}
			}
		}
	}
}

// What is allocated is bounded by what arrived, not by what is declared, and by what the
// reader allowed beyond that.
func TestAssemblerAllocatesWhatArrived(t *testing.T) {
	const declared = 1 << 30
	for _, ahead := range []int{0, 1, 16 << 10, 256 << 10} {
		pool := newLedger(t)
		var a Assembler
		a.Init(new(mem.BufferPool(pool)), math.MaxInt32)
		prefix := Prefix(false, declared)
		if _, _, _, err := a.Feed(prefix[:]); err != nil {
			t.Fatal(err)
		}
		if pool.total() != 0 {
			t.Errorf("%d bytes are held for a prefix", pool.total())
		}
		payload := make([]byte, 10_000)
		for arrived := len(payload); arrived <= 4<<20; arrived += len(payload) {
			for left := payload; len(left) > 0; {
				space := a.Space(len(left), max(ahead, 2*len(left)))
				n := copy(space, left)
				if _, complete, err := a.Filled(n); n == 0 || complete || err != nil {
					t.Fatal(n, complete, err)
				}
				left = left[n:]
			}
			if bound := max(minStep, 2*arrived, arrived+ahead); pool.total() > bound {
				t.Fatalf("ahead %d: %d bytes are held after %d arrived", ahead, pool.total(), arrived)
			}
		}
		a.Abort()
		a.Abort()
		if len(pool.lent) != 0 || a.InMessage() || a.Missing() != 0 {
			t.Errorf("after Abort: %d buffers, Missing %d", len(pool.lent), a.Missing())
		}
	}
}

// Nothing is taken for a message of which nothing is there, and all of it at once for who
// may have it.
func TestAssemblerAhead(t *testing.T) {
	pool := newLedger(t)
	var a Assembler
	a.Init(new(mem.BufferPool(pool)), math.MaxInt32)
	wire := appendMessage(nil, false, 1<<20)
	if _, _, _, err := a.Feed(wire[:PrefixLen]); err != nil {
		t.Fatal(err)
	}
	if n := len(a.Space(1<<30, 0)); n != 0 || a.Held() != 0 {
		t.Errorf("Space has %d bytes before there are any", n)
	}
	if n := len(a.Space(1<<30, 1)); n != 40 || a.Held() > 64 || len(pool.lent) != 0 {
		t.Errorf("Space has %d bytes for one, in %d, of %d buffers of the pool", n, a.Held(), len(pool.lent))
	}
	a.Abort()
	if _, _, _, err := a.Feed(wire[:PrefixLen]); err != nil {
		t.Fatal(err)
	}
	if n := len(a.Space(1<<30, 4<<20)); n != 1<<20 {
		t.Errorf("Space has %d bytes", n)
	}
	a.Abort()
}

func TestAssemblerMissing(t *testing.T) {
	var a Assembler
	a.Init(new(mem.BufferPool(newLedger(t))), 100)
	wire := appendMessage(nil, false, 3)
	for i, want := range []int{0, 4, 3, 2, 1, 3, 2, 1} {
		if got := a.Missing(); got != want {
			t.Errorf("after %d bytes: Missing %d, want %d", i, got, want)
		}
		if got := a.InMessage(); got != (i > 0) {
			t.Errorf("after %d bytes: InMessage %v", i, got)
		}
		if err := a.End(); (err != nil) != (i > 0) {
			t.Errorf("after %d bytes: End %v", i, err)
		}
		_, _, complete, err := a.Feed(wire[i : i+1])
		if err != nil || complete != (i == len(wire)-1) {
			t.Fatal(complete, err)
		}
	}
	if a.Missing() != 0 || a.InMessage() || a.End() != nil {
		t.Error("not between messages at the end")
	}
	if n := len(a.Space(0, 1)); n != 0 {
		t.Errorf("Space(0) has %d bytes", n)
	}
	if n := len(a.Space(-1, 1)); n != 0 {
		t.Errorf("Space(-1) has %d bytes", n)
	}
	if _, complete, err := a.Filled(0); complete || err != nil {
		t.Error("Filled(0):", complete, err)
	}
}

func TestAssemblerErrors(t *testing.T) {
	tests := []struct {
		name  string
		limit int
		wire  string
		code  codes.Code
		parts []string
	}{
		{"too large", 4, "\x00\x00\x00\x00\x05", codes.ResourceExhausted, []string{"5", "4"}},
		{"not even one byte", 0, "\x00\x00\x00\x00\x01", codes.ResourceExhausted, []string{"1", "0"}},
		{"negative limit", -1, "\x00\x00\x00\x00\x01", codes.ResourceExhausted, nil},
		{"largest", math.MaxInt32, "\x01\xff\xff\xff\xff", codes.ResourceExhausted, []string{"4294967295", "2147483647"}},
		{"flag 2", 100, "\x02\x00\x00\x00\x00", codes.Internal, []string{"payload format 2"}},
		{"flag 255", 0, "\xff\xff\xff\xff\xff", codes.Internal, []string{"255"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pool := newLedger(t)
			var a Assembler
			a.Init(new(mem.BufferPool(pool)), tt.limit)
			n, _, complete, err := a.Feed([]byte(tt.wire + "more"))
			if err == nil || complete || n != PrefixLen {
				t.Fatalf("Feed = %d, %v, %v", n, complete, err)
			}
			if got := status.Code(err); got != tt.code {
				t.Errorf("code %v, want %v", got, tt.code)
			}
			for _, part := range tt.parts {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q lacks %q", err, part)
				}
			}
			// It is final, takes further bytes without looking at them, and holds nothing.
			for range 3 {
				space := a.Space(100, 1)
				if len(space) == 0 {
					t.Fatal("no Space after an error: a reader would spin")
				}
				if _, complete, again := a.Filled(len(space)); complete || again.Error() != err.Error() {
					t.Fatalf("Filled = %v, %v after %v", complete, again, err)
				}
			}
			if a.End().Error() != err.Error() || pool.most != 0 || len(pool.lent) != 0 {
				t.Errorf("End %v, %d bytes were asked for", a.End(), pool.most)
			}
		})
	}
}

func TestAssemblerLimitIsInclusive(t *testing.T) {
	var a Assembler
	a.Init(new(mem.BufferPool(newLedger(t))), 5)
	_, m, complete, err := a.Feed(appendMessage(nil, true, 5))
	if err != nil || !complete || m.Len != 5 || !m.Compressed {
		t.Errorf("got %+v, %v, %v", m, complete, err)
	}
}

// A caller's mistake ends the stream instead of corrupting a message.
func TestAssemblerOverfilled(t *testing.T) {
	pool := newLedger(t)
	for _, fill := range []func(a *Assembler) int{
		func(*Assembler) int { return PrefixLen + 1 },
		func(*Assembler) int { return -1 },
		func(a *Assembler) int { return len(a.Space(1<<20, 1)) + 1 },
	} {
		var a Assembler
		a.Init(new(mem.BufferPool(pool)), 1<<20)
		n := fill(&a)
		if _, complete, err := a.Filled(n); complete || err == nil {
			t.Errorf("Filled(%d) = %v, %v", n, complete, err)
		}
	}
	var a Assembler
	a.Init(new(mem.BufferPool(pool)), 1<<20)
	if _, _, _, err := a.Feed(appendMessage(nil, false, 5000)[:100]); err != nil {
		t.Fatal(err)
	}
	if _, complete, err := a.Filled(5000); complete || err == nil {
		t.Errorf("Filled past the buffer = %v, %v", complete, err)
	}
	if len(pool.lent) != 0 {
		t.Errorf("%d buffers leaked", len(pool.lent))
	}
}

func TestUnexpectedEnd(t *testing.T) {
	if !errors.Is(errUnexpectedEnd, io.ErrUnexpectedEOF) {
		t.Error("is no io.ErrUnexpectedEOF")
	}
	if got := status.Code(errUnexpectedEnd); got != codes.Internal {
		t.Errorf("code %v", got)
	}
	if !strings.Contains(errUnexpectedEnd.Error(), "unexpected EOF") {
		t.Errorf("text %q", errUnexpectedEnd)
	}
}

// The Buffer of a small message behaves like any other in the operations of package mem.
func TestSmallMessageIsABuffer(t *testing.T) {
	var a Assembler
	a.Init(new(mem.BufferPool(mem.NopBufferPool{})), 100)
	next := func() mem.Buffer {
		_, m, _, err := a.Feed(append(appendPrefix(nil, false, 6), "abcdef"...))
		if err != nil {
			t.Fatal(err)
		}
		return m.Data.Buffer()
	}
	left, right := mem.SplitUnsafe(next(), 2)
	if string(left.ReadOnlyData()) != "ab" || string(right.ReadOnlyData()) != "cdef" {
		t.Errorf("split into %q and %q", left.ReadOnlyData(), right.ReadOnlyData())
	}
	dst := make([]byte, 4)
	if n, rest := mem.ReadUnsafe(dst, next()); n != 4 || string(rest.ReadOnlyData()) != "ef" {
		t.Errorf("read %d", n)
	}
	b := next()
	b.Ref()
	if s := b.Slice(1, 3); string(s.ReadOnlyData()) != "bc" {
		t.Errorf("slice %q", s.ReadOnlyData())
	}
	b.Free()
	b.Free()
	list := mem.BufferSlice{next(), next()}
	if got := string(list.Materialize()); got != "abcdefabcdef" {
		t.Errorf("materialized %q", got)
	}
	list.Free()
}

// With the real pool: under the race detector it poisons what goes back.
func TestAssemblerRandom(t *testing.T) {
	pool := mem.DefaultBufferPool()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var wire []byte
		for range 10 {
			wire = appendMessage(wire, rng.IntN(2) == 1, rng.IntN(1<<rng.IntN(18)))
		}
		wire = wire[:len(wire)-rng.IntN(10)]
		want, rest, _ := naive(wire, math.MaxUint32)
		var a Assembler
		a.Init(new(pool), 1<<20)
		got, err := drive(t, &a, wire, 1+rng.IntN(20000), func() (int, int) { return rng.IntN(20000), 1 << rng.IntN(20) })
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, want)
		if a.InMessage() != (rest > 0) {
			t.Errorf("InMessage %v with %d bytes left", a.InMessage(), rest)
		}
		a.Abort()
		if got, err = driveTake(t, &a, wire, rng); err != nil {
			t.Fatal(err)
		}
		same(t, got, want)
		a.Abort()
	}
}

func FuzzAssembler(f *testing.F) {
	var wire []byte
	for _, n := range []int{0, 5, 40, 1030} {
		wire = appendMessage(wire, n == 5, n)
	}
	f.Add(wire, uint64(1), uint16(2000))
	f.Add(wire[:20], uint64(7), uint16(2))
	f.Add([]byte("\x02\x00\x00\x00\x00"), uint64(3), uint16(10))
	f.Add([]byte("\x01\xff\xff\xff\xff"), uint64(3), uint16(10))
	f.Fuzz(func(t *testing.T, wire []byte, seed uint64, limit uint16) {
		want, rest, bad := naive(wire, uint32(limit))
		rng := rand.New(rand.NewPCG(seed, 0))
		pool := newLedger(t)
		var a Assembler
		a.Init(new(mem.BufferPool(pool)), int(limit))
		got, err := drive(t, &a, wire, 1+rng.IntN(100), func() (int, int) { return 1 + rng.IntN(50), rng.IntN(10_000) })
		same(t, got, want)
		if (err != nil) != bad {
			t.Fatalf("error %v", err)
		}
		if err == nil && a.InMessage() != (rest > 0) {
			t.Fatalf("InMessage %v with %d bytes left", a.InMessage(), rest)
		}
		a.Abort()
		if len(pool.lent) != 0 {
			t.Fatalf("%d buffers leaked", len(pool.lent))
		}
		// Take agrees, also with memory that is used again.
		a.Init(new(mem.BufferPool(pool)), int(limit))
		got, err = driveTake(t, &a, wire, rng)
		same(t, got, want)
		if (err != nil) != bad || err == nil && a.InMessage() != (rest > 0) {
			t.Fatalf("Take: error %v, InMessage %v with %d bytes left", err, a.InMessage(), rest)
		}
		a.Abort()
		if len(pool.lent) != 0 {
			t.Fatalf("Take: %d buffers leaked", len(pool.lent))
		}
	})
}

// driveTake feeds wire to a in pieces, some of them of several messages, and lets it use the memory
// of some again.
func driveTake(t testing.TB, a *Assembler, wire []byte, rng *rand.Rand) (messages []plain, err error) {
	t.Helper()
	for len(wire) > 0 {
		p := wire[:min(1+rng.IntN(1<<(1+rng.IntN(12))), len(wire))]
		wire = wire[len(p):]
		for len(p) > 0 {
			n, m, complete, err := a.Take(p, 1+rng.IntN(10_000))
			if err != nil {
				return messages, err
			}
			p = p[n:]
			if complete == a.InMessage() || !complete && len(p) > 0 {
				t.Fatalf("complete is %v, InMessage %v, and %d bytes are left", complete, a.InMessage(), len(p))
			}
			if !complete {
				continue
			}
			if held := a.Held(); held > 0 {
				t.Fatalf("%d bytes held between messages", held)
			}
			small := IsSmall(m)
			messages = append(messages, take(t, m))
			if small && rng.IntN(2) == 0 {
				a.Reuse(m)
			}
		}
	}
	return messages, nil
}

// Every stream, idle or not, has one.
func TestAssemblerIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(Assembler{}); size > 64 {
		t.Errorf("%d bytes, want at most 64", size)
	}
}

func TestAssemblerAllocs(t *testing.T) {
	for _, tt := range []struct {
		size  int
		limit float64
	}{{0, 0}, {16, 1}, {104, 1}, {128, 0.5}, {1024, 0.5}, {8 << 10, 0.5}, {64 << 10, 0.5}} {
		wire := appendMessage(nil, false, tt.size)
		var a Assembler
		a.Init(new(mem.DefaultBufferPool()), 1<<20)
		atMostAllocs(t, tt.limit, func() {
			_, m, complete, err := a.Feed(wire)
			if !complete || err != nil {
				t.Fatal(complete, err)
			}
			m.Data.Free()
		})
	}
}

func BenchmarkAssembler(b *testing.B) {
	for _, bb := range []struct {
		name string
		size int
	}{{"0B", 0}, {"32B", 32}, {"100B", 100}, {"128B", 128}, {"1KiB", 1 << 10}, {"8KiB", 8 << 10}, {"64KiB", 64 << 10}, {"1MiB", 1 << 20}} {
		b.Run(bb.name, func(b *testing.B) {
			wire := appendMessage(nil, false, bb.size)
			var a Assembler
			a.Init(new(mem.DefaultBufferPool()), 4<<20)
			b.ReportAllocs()
			b.SetBytes(int64(bb.size))
			for b.Loop() {
				for p := wire; len(p) > 0; {
					frame := p[:min(len(p), 16<<10)]
					n, m, complete, err := a.Feed(frame)
					if err != nil || n != len(frame) {
						b.Fatal(n, err)
					}
					if complete {
						m.Data.Free()
					}
					p = p[n:]
				}
			}
		})
	}
}

// Feed copies bytes of p into the message in assembly, up to its end, and returns how
// many it took: all of p unless complete or an error says otherwise.
func (a *Assembler) Feed(p []byte) (n int, m Message, complete bool, err error) {
	return a.Take(p, 2*len(p))
}

func appendPrefix(dst []byte, compressed bool, n uint32) []byte {
	p := Prefix(compressed, n)
	return append(dst, p[:]...)
}
