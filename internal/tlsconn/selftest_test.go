// SPDX-License-Identifier: Apache-2.0

//go:build !grpcnotlsrelease

package tlsconn

import "testing"

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
