// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkLargeMessages is a stream of 1 MiB messages from server to client, each in a
// process of its own, the implementations in turn: bytes a second, and the processor
// time of both sides, which other work on the machine disturbs less.
func BenchmarkLargeMessages(b *testing.B) {
	needCloud(b)
	handshaker := startHandshaker(b, 512<<10)
	for _, record := range []int{0, 16 << 10, 64 << 10, 256 << 10, 512 << 10} {
		for _, impl := range []string{ours, published} {
			name := "default"
			if record > 0 {
				name = fmt.Sprintf("%dKiB", record>>10)
			}
			b.Run(fmt.Sprintf("record=%s/%s", name, nameOf(impl)), func(b *testing.B) {
				benchmarkLarge(b, impl, handshaker, record)
			})
		}
	}
}

func benchmarkLarge(b *testing.B, impl, handshaker string, record int) {
	server := startServer(b, impl, handshaker, record)
	var rates, bytes float64
	var cpu time.Duration
	for range b.N {
		cmd := program(b, impl, record, "-role", "client", "-handshaker", handshaker, "-target", server.addr, "-bench", "2s")
		out, err := cmd.Output()
		if err != nil {
			b.Fatalf("the client of %s: %v\n%s", nameOf(impl), err, out)
		}
		var rate, n float64
		if _, err := fmt.Sscan(string(out), &rate, &n); err != nil {
			b.Fatalf("%q: %v", out, err)
		}
		rates += rate
		bytes += n
		cpu += cpuOf(cmd)
	}
	cpu += server.stop()
	b.ReportMetric(rates/float64(b.N)/1e6, "MB/s")
	b.ReportMetric(float64(cpu.Milliseconds())/(bytes/1e9), "cpu-ms/GB")
	b.ReportMetric(0, "ns/op")
}
