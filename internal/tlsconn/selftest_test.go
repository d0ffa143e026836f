// SPDX-License-Identifier: Apache-2.0

//go:build !grpcnotlsrelease

package tlsconn

import (
	"crypto/tls"
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
