// SPDX-License-Identifier: Apache-2.0

//go:build unix

package tlsconn

import (
	"syscall"
	"testing"
)

// reportCPU adds the processor time of the whole process, which others on the
// machine disturb less than the time that passes.
func reportCPU(b *testing.B) func() {
	before := cpuTime()
	return func() { b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op") }
}

func cpuTime() int64 {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return r.Utime.Nano() + r.Stime.Nano()
}
