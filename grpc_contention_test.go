// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	contentionConns   = 16
	contentionCallers = 8   // on each
	contentionCalls   = 150 // of each
)

// ofOneConnection are whose locks calls may wait for: those of a connection and its streams,
// and of a socket.
var ofOneConnection = []string{
	"google.golang.org/grpc/internal/transport/h2.(*Conn).", // Conn.mu is package h2's only lock
	"google.golang.org/grpc/internal/transport/h2.(*locked).",
	"google.golang.org/grpc/internal/transport.(*ClientStream).",
	"google.golang.org/grpc/internal/transport.(*clientReceiver).",
	"google.golang.org/grpc/internal/transport.(*body).",
	"google.golang.org/grpc/internal/transport.(*ServerStream).",
	"internal/poll.(*FD).",
}

// Calls on 16 connections at once wait for nothing that another connection takes: no lock of
// the process is held while somebody else wants it.
func TestCallsWaitForNoLockOfTheProcess(t *testing.T) {
	// Threads that have no processor to run on are stopped anywhere, also where they hold a
	// lock, and others are then found waiting for it.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(16))
	if raceEnabled {
		t.Skip("the race detector has locks of its own")
	}
	s := serve(t, newEcho())
	var ccs []*ClientConn
	for range contentionConns {
		ccs = append(ccs, newTestClient(t, s.addr))
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	call := func(n int) {
		var all sync.WaitGroup
		for _, cc := range ccs {
			for range contentionCallers {
				all.Go(func() {
					in, out := &text{Value: "hello"}, new(text)
					for range n {
						if err := cc.Invoke(ctx, unaryMethod, in, out); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
		}
		all.Wait()
	}
	// Each sync.Pool takes a lock of the process once after a collection.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	call(30) // the pools fill

	defer runtime.SetMutexProfileFraction(runtime.SetMutexProfileFraction(1))
	runtime.SetBlockProfileRate(1)
	defer runtime.SetBlockProfileRate(0)
	mutex, block := profileOf(runtime.MutexProfile), profileOf(runtime.BlockProfile)
	call(contentionCalls)
	mutex.checkSince(t, profileOf(runtime.MutexProfile))
	block.checkSince(t, profileOf(runtime.BlockProfile))
}

// waits are the places where goroutines waited, by their stacks.
type waits map[[32]uintptr]runtime.BlockProfileRecord

func profileOf(read func([]runtime.BlockProfileRecord) (int, bool)) waits {
	records := make([]runtime.BlockProfileRecord, 1<<14)
	n, ok := read(records)
	if !ok {
		panic("the profile has grown too large")
	}
	all := waits{}
	for _, r := range records[:n] {
		all[r.Stack0] = r
	}
	return all
}

// checkSince looks at what came after w.
func (w waits) checkSince(t *testing.T, now waits) {
	t.Helper()
	for at, r := range now {
		before := w[at]
		if r.Count == before.Count {
			continue
		}
		lock, holder, stack := describe(r.Stack())
		ofOne := func(prefix string) bool { return strings.HasPrefix(holder, prefix) }
		if lock && !slices.ContainsFunc(ofOneConnection, ofOne) {
			t.Errorf("%s: %d times, %d cycles:\n%s", holder, r.Count-before.Count, r.Cycles-before.Cycles, stack)
		}
	}
}

// describe tells whether a wait was for a lock, whose function had or wanted it, and where.
// The runtime's own locks, and waits for something to happen, don't count.
func describe(stack []uintptr) (lock bool, holder, text string) {
	frames := runtime.CallersFrames(stack)
	var b strings.Builder
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		b.WriteString("\t" + f.Function + "\n")
		switch pkg, _, _ := strings.Cut(f.Function, "."); {
		case holder != "":
		case strings.HasPrefix(f.Function, "sync.(*Mutex)"), strings.HasPrefix(f.Function, "sync.(*RWMutex)"),
			pkg == "internal/sync":
			lock = true
		case pkg != "sync" && pkg != "runtime":
			holder = f.Function
		}
	}
	return lock, holder, b.String()
}
