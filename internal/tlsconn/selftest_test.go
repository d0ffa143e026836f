// SPDX-License-Identifier: Apache-2.0

//go:build !grpcnotlsrelease

package tlsconn

import (
	"crypto/tls"
	"runtime"
	"runtime/debug"
	"testing"

	"google.golang.org/grpc/mem"
)

// If this fails the running version of Go has another tls.Conn: idle connections
// then hold its buffers until package tlsbuf is adapted.
func TestReleasable(t *testing.T) {
	if err := selfTest(); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkSelfTest(b *testing.B) {
	for b.Loop() {
		if err := selfTest(); err != nil {
			b.Fatal(err)
		}
	}
}

// All that the trial asks holds as well where memory is lent once.
func TestLentOnce(t *testing.T) {
	cert, err := trialCertificate()
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		client, server, err := trialPair(cert, version)
		if err != nil {
			t.Fatal(err)
		}
		client.intake.Pool, server.intake.Pool = mem.NopBufferPool{}, mem.NopBufferPool{}
		for _, size := range []int{1, 20 << 10, 150 << 10} {
			if err := trialExchange(client, server, size); err != nil {
				t.Errorf("%s, %d bytes: %v", tls.VersionName(version), size, err)
			}
		}
		client.Close()
		server.Close()
	}
}

// TestSelfTestMemory: what each process that uses TLS allocates to find out about crypto/tls may stay in its
// heap for as long as nothing else has it collect.
func TestSelfTestMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties the pools
	if err := selfTest(); err != nil {               // fills them
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := selfTest(); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	n := after.TotalAlloc - before.TotalAlloc
	if n > 3<<20 { // half of it, as a rule; more where both ends need a buffer at the same time
		t.Errorf("%d bytes are allocated", n)
	}
	t.Logf("%d bytes", n)
}
