// SPDX-License-Identifier: Apache-2.0

package altsconn

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"testing"

	imem "google.golang.org/grpc/internal/mem"
	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/mem"
)

// BenchmarkLargeMessage is 1 MiB over loopback TCP, from one goroutine to another, read into
// 32 KiB buffers. Up to 64 KiB a record it is written as the HTTP/2 layer writes it, 64 KiB at a
// time, which no record exceeds then; beyond, a whole record at a time. "lowwater" is records
// of 1 MiB with the low-water mark. "floor" is the same work without the protocol: seal, write,
// read, open, one copy.
func BenchmarkLargeMessage(b *testing.B) {
	for _, record := range []int{4 << 10, 16 << 10, 64 << 10, 128 << 10, 256 << 10, MaxRecord} {
		b.Run(fmt.Sprintf("record=%dKiB", record>>10), func(b *testing.B) {
			benchmarkRecords(b, Config{MaxRecord: record})
		})
	}
	b.Run("lowwater", func(b *testing.B) { benchmarkRecords(b, Config{MaxRecord: MaxRecord, LowWater: true}) })
	b.Run("plaintext", func(b *testing.B) {
		s, r := rawPair(b, "tcp")
		benchmarkLarge(b, s, r, large, layerWrites)
	})
	b.Run("floor", benchmarkFloor)
}

const (
	large = 1 << 20
	// layerWrites is how much the HTTP/2 layer writes at a time.
	layerWrites = 64 << 10
)

// benchmarkRecords sends messages in records of a size, and looks whether they were.
func benchmarkRecords(b *testing.B, cfg Config) {
	s, r := pair(b, "tcp", cfg)
	message, piece := large, layerWrites
	whole := cfg.MaxRecord > layerWrites
	if whole {
		piece = cfg.MaxRecord - overhead
		message = large / cfg.MaxRecord * piece
	}
	benchmarkLarge(b, s, r, message, piece)
	c := s.(*Socket)
	c.wmu.Lock()
	records := float64(c.out.keys.next) / float64(b.N)
	c.wmu.Unlock()
	b.ReportMetric(records, "records/op")
	if whole && records != float64(message/piece) {
		b.Errorf("a message took %g records", records)
	}
}

func benchmarkLarge(b *testing.B, s, r net.Conn, message, piece int) {
	src := readyreader.NewSocket(r)
	if !src.Can().Has(readyreader.ReadsReady) {
		b.Skip("no ready reader on this system")
	}
	b.SetBytes(int64(message))
	b.ReportAllocs()
	msg, got := make([]byte, message), make([]byte, message)
	count := b.N
	go func() {
		for range count {
			for n := 0; n < message; n += piece {
				s.Write(msg[n : n+piece])
			}
		}
	}()
	b.ResetTimer()
	for left := count * message; left > 0; {
		buf, n, err := src.ReadOnReady(32<<10, mem.DefaultBufferPool())
		if err != nil {
			b.Fatal(err)
		}
		for part := (*buf)[:n]; len(part) > 0; {
			k := copy(got[message-1-(left-1)%message:], part)
			part, left = part[k:], left-k
		}
		mem.DefaultBufferPool().Put(buf)
	}
}

func benchmarkFloor(b *testing.B) {
	s, r := rawPair(b, "tcp")
	const piece = 256 << 10
	seals, opens := crypterAt(b, AES128GCM, Client, 0), crypterAt(b, AES128GCM, Client, 0)
	b.SetBytes(large)
	count := b.N
	go func() {
		msg, out := make([]byte, piece), make([]byte, 0, piece+tagSize)
		for range count * large / piece {
			sealed, _ := seals.seal(out, msg)
			s.Write(sealed)
		}
	}()
	in, got := make([]byte, piece+tagSize), make([]byte, piece)
	b.ResetTimer()
	for range count * large / piece {
		if _, err := io.ReadFull(r, in); err != nil {
			b.Fatal(err)
		}
		p, err := opens.open(in[:0], in)
		if err != nil {
			b.Fatal(err)
		}
		copy(got, p)
	}
}

// BenchmarkReadMemoryUsage makes connections whose read is blocked, after a first
// record of 1 MiB on each, and reports what one costs: of the heap, its socket's part in
// it, in objects, and of the pool.
func BenchmarkReadMemoryUsage(b *testing.B) {
	benchmarkMemory(b, func(c, peer net.Conn) { blockRead(b, c, peer) })
}

// BenchmarkWriteMemoryUsage makes connections over which 1 MiB was written, and
// reports what one costs.
func BenchmarkWriteMemoryUsage(b *testing.B) {
	benchmarkMemory(b, func(c, peer net.Conn) {
		go c.Write(make([]byte, large))
		if _, err := io.CopyN(io.Discard, peer, large); err != nil {
			b.Fatal(err)
		}
	})
}

func benchmarkMemory(b *testing.B, use func(c, peer net.Conn)) {
	const conns = 200
	secret := key(AES128GCMRekey)
	for b.Loop() {
		raws := make([]net.Conn, 0, 2*conns)
		for range conns {
			s, r := rawPair(b, "tcp")
			raws = append(raws, s, r)
		}
		before := usage()
		lent := imem.Default().Stats().Buffers
		made := make([]net.Conn, 0, 2*conns)
		for i := 0; i < len(raws); i += 2 {
			s, _ := New(readyreader.NewSocket(raws[i]), Config{Protocol: AES128GCMRekey, Key: secret, MaxRecord: MaxRecord})
			r, _ := New(readyreader.NewSocket(raws[i+1]), Config{Protocol: AES128GCMRekey, Key: secret, MaxRecord: MaxRecord, Side: Server})
			use(s, r)
			made = append(made, s, r)
		}
		after := usage()
		per := func(n uint64) float64 { return float64(n) / float64(len(made)) }
		b.ReportMetric(per(after.HeapAlloc-before.HeapAlloc), "B/conn")
		b.ReportMetric(per(after.HeapObjects-before.HeapObjects), "objects/conn")
		b.ReportMetric(float64(imem.Default().Stats().Buffers-lent), "buffers-out")
		for _, c := range made {
			c.Close()
		}
	}
}

// blockRead leaves a goroutine in a read of c.
func blockRead(b *testing.B, c, peer net.Conn) {
	go peer.Write(make([]byte, large))
	if _, err := io.CopyN(io.Discard, c, large); err != nil {
		b.Fatal(err)
	}
	// The first Get is the attempt, which finds nothing; its Put comes right
	// before the wait.
	entered := make(chan struct{}, 1)
	go func() {
		entered <- struct{}{}
		c.Read(make([]byte, 1))
	}()
	<-entered
	runtime.Gosched()
}

func usage() runtime.MemStats {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m
}
