// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// clockTick is the unit of /proc/stat: the kernel shows hundredths of a second to programs
// whatever it counts in itself.
const clockTick = time.Second / 100

// machineTime is the time all processors were at work, and all the time they had; and how
// much of the former was for this process and the children it has waited for.
func machineTime() (busy, all, own time.Duration, ok bool) {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, 0, false
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	for i, field := range bytes.Fields(line) {
		if i == 0 {
			continue
		}
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0, 0, 0, false
		}
		// user nice system idle iowait irq softirq steal, then guests, counted before
		switch d := time.Duration(n) * clockTick; i {
		case 1, 2, 3, 6, 7, 8:
			busy += d
			all += d
		case 4, 5:
			all += d
		}
	}
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			return 0, 0, 0, false
		}
		own += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return busy, all, own, true
}
