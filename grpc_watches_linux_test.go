// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/testutils"
)

// epollSets are the numbers of this process's epoll sets.
func epollSets(t *testing.T) (sets []uint32) {
	t.Helper()
	const dir = "/proc/self/fd"
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		to, _ := os.Readlink(filepath.Join(dir, f.Name())) // the folder's own descriptor is gone
		if fd, err := strconv.Atoi(f.Name()); err == nil && strings.Contains(to, "[eventpoll]") {
			sets = append(sets, uint32(fd))
		}
	}
	return sets
}

// argument is where a filter finds the lower half of a system call's n-th argument.
func argument(n uint32) uint32 {
	at := 16 + 8*n
	if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
		at += 4
	}
	return at
}

// refuseWatches has the kernel answer ENOSPC, as it does when a user has as many watches as
// fs.epoll.max_user_watches allows, to all who add something to an epoll set that is not
// there yet. Those that are there are the runtime's.
func refuseWatches(t *testing.T) {
	t.Helper()
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	answer := func(what uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: what}
	}
	// after goes past one instruction if what was loaded is k, or else if it is not.
	after := func(k uint32, is bool) unix.SockFilter {
		f := unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k}
		if is {
			f.Jt = 1
		} else {
			f.Jf = 1
		}
		return f
	}
	allow := answer(unix.SECCOMP_RET_ALLOW)
	filter := []unix.SockFilter{
		load(0), after(unix.SYS_EPOLL_CTL, true), allow,
		load(argument(1)), after(unix.EPOLL_CTL_ADD, true), allow,
		load(argument(0)),
	}
	for _, set := range epollSets(t) {
		filter = append(filter, after(set, false), allow)
	}
	filter = append(filter, answer(unix.SECCOMP_RET_ERRNO|uint32(syscall.ENOSPC)))
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Skip(err)
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		t.Skip(errno)
	}
}

// processorTime is what this process has used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Where the user has no watches left, connections keep goroutines, one line says so, and idle
// ones use no processor.
func TestOutOfWatches(t *testing.T) {
	if !park.Supported() || !envconfig.HTTPFramerReadBufferPooling {
		t.Skip("nothing is watched")
	}
	if !testutils.InChild(t, "") {
		return
	}
	log := warnings()
	s := serve(t, newEcho())
	refuseWatches(t)
	clients := make([]*ClientConn, 5)
	for i := range clients {
		clients[i] = newTestClient(t, "passthrough:///"+s.addr)
	}
	for range 3 {
		for _, cc := range clients {
			if err := call(testContext(t), cc, "unwatched"); err != nil {
				t.Fatal(err)
			}
		}
	}
	log.await(t, "refuses to watch sockets, and connections that go idle keep a goroutine and a buffer each: epoll_ctl: "+syscall.ENOSPC.Error())
	none := func() bool { return park.ReadStats() == (park.Stats{}) }
	waitUntil(t, "no connection parked", none) // one may be about to hear that it can't be
	before := processorTime(t)
	const quiet = 300 * time.Millisecond // longer than a connection takes to go idle
	<-time.After(quiet)
	if used := processorTime(t) - before; used > quiet/2 {
		t.Errorf("%v of the processor in %v of idleness", used, quiet)
	}
	for _, cc := range clients {
		if err := call(testContext(t), cc, "again"); err != nil {
			t.Error(err)
		}
	}
	waitUntil(t, "no connection parked again", none)
	for len(log) > 0 {
		if line := <-log; strings.Contains(line, "refuses to watch") {
			t.Errorf("said once more: %s", line)
		}
	}
}
