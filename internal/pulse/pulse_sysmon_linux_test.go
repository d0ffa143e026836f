// SPDX-License-Identifier: Apache-2.0

package pulse

import (
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// alarmed returns a file that can be read after a time, without anything that this process does.
func alarmed(t *testing.T, d time.Duration) *os.File {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	at := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	if err := unix.TimerfdSettime(fd, 0, &at, nil); err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "timerfd")
	t.Cleanup(func() { f.Close() })
	return f
}

// What is promised: a goroutine that wakes for input, makes no system call that the scheduler
// hears of, and computes, on the only processor there is, neither keeps others from running
// nor their input from being seen.
func TestComputingIsFound(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for range 20 {
		p := &pace{thick: 4}
		p.begins.Store(true)
		go p.run()
		for !p.on.Load() {
			runtime.Gosched()
		}
		p.events.Store(100) // it ticks twice
		computes, looks := alarmed(t, tick/2), alarmed(t, tick/2+tick/10)
		var seen atomic.Bool
		go func() {
			var b [8]byte
			_, _ = looks.Read(b[:])
			seen.Store(true)
		}()
		done := make(chan time.Duration)
		go func() {
			rc, err := computes.SyscallConn()
			if err != nil {
				t.Error(err)
			}
			var b [8]byte
			_ = rc.Read(func(fd uintptr) bool { // it may be late, and the time over: nobody would tell of it again
				n, _, _ := unix.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
				return int(n) == len(b)
			})
			start := time.Now()
			for !seen.Load() && time.Since(start) < 10*time.Second {
			}
			done <- time.Since(start)
		}()
		if took := <-done; took > 5*time.Second {
			t.Fatalf("one who computed for %v kept others from running", took)
		}
		for p.begins.Load() {
			runtime.Gosched()
		}
	}
}
