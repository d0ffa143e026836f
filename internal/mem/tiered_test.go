// SPDX-License-Identifier: Apache-2.0

package mem_test

import (
	"math/bits"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"google.golang.org/grpc/internal/mem"
)

func TestTieredServes(t *testing.T) {
	// In this order on purpose, with a repetition and sizes that make no sense.
	pool := mem.NewTiered(1<<20, 256, 4096, 0, -7, 4096, 16<<10)
	tests := []struct {
		length, capacity int
	}{
		{0, 256},
		{1, 256},
		{256, 256},
		{257, 4096}, // more than four times, but small
		{4096, 4096},
		{4097, 16 << 10},
		{16 << 10, 16 << 10},
		{16<<10 + 1, 16<<10 + 1}, // 1 MiB would be too much
		{256<<10 - 1, 256<<10 - 1},
		{256 << 10, 1 << 20},
		{1 << 20, 1 << 20},
		{1<<20 + 1, 1<<20 + 1},
	}
	for _, tt := range tests {
		b := pool.Get(tt.length)
		if len(*b) != tt.length || cap(*b) != tt.capacity {
			t.Errorf("Get(%d): length %d, capacity %d, want capacity %d", tt.length, len(*b), cap(*b), tt.capacity)
		}
		want := mem.Stats{Buffers: 1, Bytes: int64(tt.capacity)}
		if s := pool.Stats(); s.Buffers != want.Buffers || s.Bytes != want.Bytes {
			t.Errorf("Get(%d): stats %+v, want %+v", tt.length, s, want)
		}
		*b = (*b)[:0] // the length on return is of no importance
		pool.Put(b)
		if s := pool.Stats(); s.Buffers != 0 || s.Bytes != 0 {
			t.Errorf("Put after Get(%d): still lent: %+v", tt.length, s)
		}
	}
}

func TestTieredWithoutSizes(t *testing.T) {
	pool := mem.NewTiered()
	b := pool.Get(100)
	if len(*b) != 100 || cap(*b) != 100 {
		t.Errorf("length %d, capacity %d, want 100", len(*b), cap(*b))
	}
	pool.Put(b)
	pool.Put(nil)
	if s := pool.Stats(); s.Buffers != 0 || s.Kept != 0 || s.Allocated != 1 {
		t.Errorf("stats %+v", s)
	}
}

func TestTieredManySizes(t *testing.T) {
	sizes := make([]int, 1000)
	for i := range sizes {
		sizes[i] = 10 * (i + 1)
	}
	pool := mem.NewTiered(sizes...)
	for _, n := range []int{1, 10, 11, 2549, 2550, 2551, 10000, 10001} {
		b := pool.Get(n)
		if len(*b) != n {
			t.Errorf("Get(%d) has length %d", n, len(*b))
		}
		pool.Put(b)
	}
}

func TestTieredNegativeLength(t *testing.T) {
	pool := mem.NewTiered(256)
	defer func() {
		if recover() == nil {
			t.Error("Get(-1) did not panic")
		}
		if s := pool.Stats(); s.Buffers != 0 {
			t.Errorf("stats %+v", s)
		}
	}()
	pool.Get(-1)
}

func TestBinaryTiered(t *testing.T) {
	pool, err := mem.NewBinaryTiered(10, 8, 12)
	if err != nil {
		t.Fatal(err)
	}
	for length, capacity := range map[int]int{1: 256, 256: 256, 257: 1024, 1025: 4096, 4097: 4097} {
		b := pool.Get(length)
		if len(*b) != length || cap(*b) != capacity {
			t.Errorf("Get(%d): length %d, capacity %d, want capacity %d", length, len(*b), cap(*b), capacity)
		}
		pool.Put(b)
	}
	if _, err := mem.NewBinaryTiered(bits.UintSize - 2); err != nil {
		t.Errorf("the largest size that fits: %v", err)
	}
	for _, e := range []uint8{bits.UintSize - 1, bits.UintSize, 255} {
		if _, err := mem.NewBinaryTiered(3, e); err == nil {
			t.Errorf("exponent %d was accepted", e)
		}
	}
}

// TestDefaultWaste holds the bound which lets any part of the module use the default pool
// without a thought: a buffer is never twice as large as asked for, and a large one, which may wait for
// a peer that does not read, takes a quarter more at most.
func TestDefaultWaste(t *testing.T) {
	check := func(n int) {
		b := mem.Default().Get(n)
		most := max(2*n-1, 256)
		if n > 128<<10 {
			most = n + n/4
		}
		if len(*b) != n || cap(*b) > most {
			t.Errorf("Get(%d): length %d, capacity %d", n, len(*b), cap(*b))
		}
		mem.Default().Put(b)
	}
	for e := 0; e <= 23; e++ {
		for _, d := range []int{-1, 0, 1, 5, 20, 100} {
			check(max(1<<e+d, 0))
		}
	}
	for range 100 {
		check(rand.IntN(5 << 20))
	}
	for step := 128 << 10; step < 16<<20; step *= 2 { // just above each size
		for n := step; n < 2*step; n += step / 4 {
			check(n + 1)
			check(n + 8<<10 + 1)
		}
	}
}

// TestDefaultHeadroom: a message with a round payload doesn't cost a whole doubling.
func TestDefaultHeadroom(t *testing.T) {
	for size := 4 << 10; size <= 4<<20; size *= 2 {
		b := mem.Default().Get(size + 5 + 20)
		if cap(*b) > size+size/4 {
			t.Errorf("Get(%d): capacity %d", size+25, cap(*b))
		}
		mem.Default().Put(b)
	}
}

func TestTieredForeignBuffers(t *testing.T) {
	pool := mem.NewTiered(4096)
	odd := make([]byte, 10, 5000)
	pool.Put(&odd)
	if s := pool.Stats(); s.Buffers != -1 || s.Kept != 0 {
		t.Errorf("after an array of another size: %+v", s)
	}
	b := pool.Get(4096)
	part := (*b)[100:]
	pool.Put(&part)
	if s := pool.Stats(); s.Buffers != -1 || s.Kept != 0 {
		t.Errorf("after the end of an array: %+v", s)
	}
}

// TestTieredForgetsBurst returns far more than a class keeps.
func TestTieredForgetsBurst(t *testing.T) {
	const size, n = 1 << 20, 128
	pool := mem.NewTiered(size)
	burst := make([]*[]byte, n)
	for i := range burst {
		burst[i] = pool.Get(size)
	}
	if s := pool.Stats(); s.Buffers != n || s.Bytes != n*size || s.Allocated != n {
		t.Errorf("during the burst: %+v", s)
	}
	for _, b := range burst {
		pool.Put(b)
	}
	if s := pool.Stats(); s.Buffers != 0 || s.Kept > 32<<20 || s.Kept == 0 {
		t.Errorf("after the burst: %+v", s)
	}

	// Nobody else holds them now, and after two collections the pool doesn't either: each
	// begins by taking from a sync.Pool what was there at the one before.
	clear(burst)
	runtime.GC()
	runtime.GC()
	// The count of what is kept finds its way back, or the pool would stay closed.
	for range 3 {
		b := pool.Get(size)
		pool.Put(b)
	}
	if s := pool.Stats(); s.Buffers != 0 || s.Kept > 2*size {
		t.Errorf("after the collection: %+v", s)
	}
	runtime.KeepAlive(pool)
}

func TestTieredReuses(t *testing.T) {
	if mem.Checking {
		t.Skip("sync.Pool drops at random under the race detector")
	}
	pool := mem.NewTiered(256, 1<<20)
	for range 1000 {
		for _, n := range []int{10, 1<<20 - 3} {
			pool.Put(pool.Get(n))
		}
	}
	if s := pool.Stats(); s.Allocated > 100 {
		t.Errorf("2000 loans took %d allocations", s.Allocated)
	}
}

func TestTieredAllocs(t *testing.T) {
	if mem.Checking {
		t.Skip("the race detector allocates")
	}
	for _, n := range []int{1, 1 << 10, 32 << 10, 1<<20 + 25} {
		got := testing.AllocsPerRun(1000, func() { mem.Default().Put(mem.Default().Get(n)) })
		if got != 0 {
			t.Errorf("Get(%d) and Put: %v allocations", n, got)
		}
	}
}

func TestTieredConcurrently(t *testing.T) {
	pool := mem.NewTiered(64, 256, 1024, 4096)
	handOver := make(chan *[]byte, 16)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(g)))
			for range 2000 {
				b := pool.Get(rnd.IntN(6000))
				fill(*b, byte(g))
				// Some are returned by another goroutine.
				select {
				case handOver <- b:
				case other := <-handOver:
					sameBytes(t, *other)
					pool.Put(other)
					sameBytes(t, *b)
					pool.Put(b)
				}
			}
		})
	}
	wg.Wait()
	close(handOver)
	for b := range handOver {
		sameBytes(t, *b)
		pool.Put(b)
	}
	if s := pool.Stats(); s.Buffers != 0 || s.Bytes != 0 {
		t.Errorf("at rest: %+v", s)
	}
}

func fill(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}

func sameBytes(t *testing.T, b []byte) {
	for i := range b {
		if b[i] != b[0] {
			t.Errorf("two users of one buffer: %#x and %#x", b[0], b[i])
			return
		}
	}
}

func TestNop(t *testing.T) {
	var pool mem.NopBufferPool
	b := pool.Get(77)
	if len(*b) != 77 {
		t.Errorf("length %d", len(*b))
	}
	pool.Put(b)
	pool.Put(nil)
}

func BenchmarkTiered(b *testing.B) {
	for _, n := range []int{256, 512, 1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 1<<20 + 25} {
		b.Run(sizeName(n), func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					mem.Default().Put(mem.Default().Get(n))
				}
			})
		})
	}
}

// BenchmarkSyncPool is the floor: the same without sizes and counters.
func BenchmarkSyncPool(b *testing.B) {
	pool := sync.Pool{New: func() any { s := make([]byte, 1024); return &s }}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			pool.Put(pool.Get())
		}
	})
}

// TestTieredForgets: what was left to the program is not lent, and nobody gets it again.
func TestTieredForgets(t *testing.T) {
	for _, n := range []int{100, 64 << 10, 100_000} { // in a class, and a plain one
		pool := mem.NewTiered(256, 64<<10)
		b := pool.Get(n)
		own := *b
		fill(own, 1)
		pool.Forget(b)
		if s := pool.Stats(); s.Buffers != 0 || s.Bytes != 0 || s.Kept != 0 {
			t.Errorf("%d bytes: %+v", n, s)
		}
		for range 10 {
			other := pool.Get(n)
			fill(*other, 2)
			pool.Put(other)
		}
		for _, c := range own {
			if c != own[0] || c == 2 {
				t.Fatalf("%d bytes: somebody wrote there", n)
			}
		}
	}
}

// TestTieredExact: who keeps what is lent gets arrays of about the size that was asked for, and who gives
// it back gets mostly arrays that are used again.
func TestTieredExact(t *testing.T) {
	const wasteful, near = 600 << 10, 900 << 10
	pool := mem.NewTiered(64<<10, 1<<20)
	capOf := func(n int, done func(*[]byte)) int {
		b := pool.GetExact(n)
		if len(*b) != n {
			t.Fatalf("%d bytes, want %d", len(*b), n)
		}
		defer done(b)
		return cap(*b)
	}
	for range 3 {
		if got := capOf(wasteful, pool.Forget); got > wasteful+wasteful/5 {
			t.Errorf("%d bytes are kept in %d", wasteful, got)
		}
		if got := capOf(near, pool.Forget); got != 1<<20 {
			t.Errorf("%d bytes are kept in %d", near, got)
		}
	}
	exact := 0
	for range 64 {
		if capOf(wasteful, pool.Put) < 1<<20 {
			exact++
		}
	}
	if exact != 2 {
		t.Errorf("%d of 64 arrays that came back could not be used again, want 2", exact)
	}
	for capOf(wasteful, pool.Forget) == 1<<20 {
	}
	if got := capOf(wasteful, pool.Forget); got == 1<<20 {
		t.Error("an array that was kept is followed by one that is too large")
	}
	if got := capOf(2<<20, pool.Put); got != 2<<20 {
		t.Errorf("%d bytes for more than the largest size", got)
	}
	if s := pool.Stats(); s.Buffers != 0 || s.Bytes != 0 {
		t.Errorf("still lent: %+v", s)
	}
}
