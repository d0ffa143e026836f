// SPDX-License-Identifier: Apache-2.0

package tlsconn

import (
	"crypto/tls"
	"runtime"
	"testing"
	"time"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/testutils"
)

// heap is what is in use when nothing is left to collect and pools are empty.
func heap() int {
	var s runtime.MemStats
	for range 4 {
		runtime.GC()
	}
	runtime.ReadMemStats(&s)
	return int(s.HeapAlloc)
}

// Idle connections cost keys and counters, whatever they carried before; for
// connections that were never released the figures are only shown.
func TestIdleMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector has its own memory")
	}
	const n = 100
	forEachMode(t, func(t *testing.T, m mode) {
		ceiling := 6 << 10 // bytes for a connection with its socket: 4.5 KB were measured
		if m.version == tls.VersionTLS13 && restable() {
			ceiling = 7 << 9 // 2.7 KB were
		}
		exchangeAll := func(conns [][2]*Conn, size int) {
			p := pattern(size)
			for _, c := range conns {
				exchange(t, c[0], c[1], p)
				exchange(t, c[1], c[0], p)
				wantIdle(t, c[0])
				wantIdle(t, c[1])
			}
		}
		config := m.config()
		config.ClientAuth = tls.NoClientCert // as for most servers
		conns := make([][2]*Conn, n)
		connect := func(i int) {
			a, b := sockets(t, "unix")
			conns[i][0], conns[i][1] = newConn(t, a, config, false, m.release), newConn(t, b, config, true, m.release)
			shake(t, conns[i][0], conns[i][1])
		}
		connect(0) // pays for what is made once
		exchangeAll(conns[:1], 100)
		before := heap()
		for i := range conns {
			connect(i)
		}
		exchangeAll(conns, 100)
		fresh := (heap() - before) / (2 * n)
		for _, size := range []int{16 << 10, 1 << 20} {
			exchangeAll(conns, size)
			after := (heap() - before) / (2 * n)
			t.Logf("idle: %d bytes; after %d bytes each way: %d", fresh, size, after)
			if m.release && (after > fresh+fresh/10 || after > ceiling) {
				t.Errorf("too much")
			}
		}
		for _, c := range conns {
			c[0].Close()
			c[1].Close()
		}
	})
}

// Traffic and release, many times.
func TestReleaseCycles(t *testing.T) {
	forEachMode(t, func(t *testing.T, m mode) {
		client, server := pair(t, "tcp", m)
		for i := range 100 {
			p := pattern(i * i * 17)
			exchange(t, client, server, p)
			exchange(t, server, client, p)
			wantIdle(t, client)
			wantIdle(t, server)
		}
	})
}

// Reading and writing allocate nothing, where crypto/tls does not.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	forEachMode(t, func(t *testing.T, m mode) {
		for _, size := range []int{100, 20_000} {
			client, server := pair(t, "unix", m)
			p := pattern(size)
			into := make([]byte, size)
			got := testing.AllocsPerRun(200, func() {
				if err := send(client, p); err != nil {
					t.Fatal(err)
				}
				for n := 0; n < size; {
					k, err := server.Read(into[n:])
					if err != nil {
						t.Fatal(err)
					}
					n += k
				}
				buf, k, err := server.TryRead(1000, server.intake.Pool)
				if err != readyreader.ErrWouldBlock {
					t.Fatal(buf, k, err)
				}
			})
			ceiling := 0.0
			if !m.release {
				ceiling = 4 // crypto/tls allocates for each read of its own
			}
			if got > ceiling {
				t.Errorf("%d bytes: %v allocations", size, got)
			}
		}
	})
}

// What crypto/tls alone does with the same, for comparison.
func BenchmarkThroughput(b *testing.B) {
	for _, size := range []int{128, 8 << 10, 128 << 10} {
		for _, kind := range []string{"plain", "kept", "released"} {
			b.Run(kind+"/"+sizeName(size), func(b *testing.B) {
				benchThroughput(b, kind, size)
			})
		}
	}
}

func sizeName(n int) string {
	if n < 1<<10 {
		return "128B"
	}
	return map[int]string{8 << 10: "8KiB", 128 << 10: "128KiB"}[n]
}

func benchPair(b *testing.B, kind string) (client, server secure) {
	x, y := sockets(b, "tcp")
	config := mode{version: tls.VersionTLS13}.config()
	if kind == "plain" {
		config.DynamicRecordSizingDisabled = false
		client, server = tls.Client(x, config), tls.Server(y, config)
	} else {
		client = newConn(b, x, config, false, kind == "released")
		server = newConn(b, y, config, true, kind == "released")
	}
	shake(b, client, server)
	b.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

func benchThroughput(b *testing.B, kind string, size int) {
	client, server := benchPair(b, kind)
	p := pattern(size)
	done := make(chan error, 1)
	go func() {
		var err error
		for n := 0; n < b.N && err == nil; n++ {
			if c, ok := client.(*Conn); ok {
				err = send(c, p)
			} else {
				_, err = client.Write(p)
			}
		}
		done <- err
	}()
	into := make([]byte, 32<<10)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	defer reportCPU(b, testutils.CPUTime())
	for left := b.N * size; left > 0; {
		n, err := server.Read(into)
		if err != nil {
			b.Fatal(err)
		}
		left -= n
	}
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}

func BenchmarkPingPong(b *testing.B) {
	for _, kind := range []string{"plain", "kept", "released"} {
		b.Run(kind, func(b *testing.B) {
			client, server := benchPair(b, kind)
			go func() {
				p := make([]byte, 4096)
				for {
					n, err := server.Read(p)
					if err != nil {
						return
					}
					server.Write(p[:n])
				}
			}()
			p := pattern(128)
			b.ReportAllocs()
			defer reportCPU(b, testutils.CPUTime())
			for b.Loop() {
				client.Write(p)
				for n := 0; n < len(p); {
					k, err := client.Read(p[n:])
					if err != nil {
						b.Fatal(err)
					}
					n += k
				}
			}
		})
	}
}

// reportCPU adds the processor time of the whole process since it was at before.
func reportCPU(b *testing.B, before time.Duration) {
	b.ReportMetric(float64(testutils.CPUTime()-before)/float64(b.N), "cpu-ns/op")
}
