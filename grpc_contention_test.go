// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/internal/testutils"
)

const (
	contentionConns   = 16
	contentionCallers = 8   // on each
	contentionCalls   = 150 // of each
	contentionStreams = 50  // of each
)

// ofOneConnection are whose locks calls may wait for: those of a connection and its streams,
// of its TLS, of a socket and its handle, and of the list of a channel's streams, each of which has one connection here.
// The last two are taken when a connection parks: once for each, when it is the first time, and for
// the state of its HPACK tables, when nobody has that yet.
var ofOneConnection = []string{
	"google.golang.org/grpc/internal/transport/h2.(*Conn).", // Conn.mu is package h2's only lock
	"google.golang.org/grpc/internal/transport/h2.(*locked).",
	"google.golang.org/grpc/internal/transport.(*ClientStream).",
	"google.golang.org/grpc/internal/transport.(*clientReceiver).",
	"google.golang.org/grpc/internal/transport.(*callContext).",
	"google.golang.org/grpc/internal/transport.(*reply).",
	"google.golang.org/grpc/internal/transport.(*body).",
	"google.golang.org/grpc/internal/transport.(*waker).",
	"google.golang.org/grpc/internal/transport.(*ServerStream).",
	"google.golang.org/grpc/internal/transport.(*serverReceiver).",
	"google.golang.org/grpc.(*streamList).",
	"internal/poll.(*FD).",
	"google.golang.org/grpc/internal/tlsconn.(*outbox).", // the reader looks whether it has to answer a KeyUpdate
	"google.golang.org/grpc/internal/park.(*Handle).",
	"google.golang.org/grpc/internal/park.(*set).register",
	"unique.(*canonMap",
	sweeper,
}

// sweeper has a lock of the process, that a connection takes where it waits for input with its goroutine: when
// nothing has come for a moment. Calls that follow each other don't take it, but here, on a machine that does
// other things, a connection may get no call for so long.
const sweeper = "google.golang.org/grpc/internal/park.(*Sweeper)."

// Calls on 16 connections at once wait for nothing that another connection takes: no lock of
// the process is held while somebody else wants it.
func TestCallsWaitForNoLockOfTheProcess(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector has locks of its own")
	}
	// Threads that have no processor to run on are stopped anywhere, also where they hold a
	// lock, and others are then found waiting for it.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(16))
	cert, pool := testutils.Certificate(t)
	for _, over := range []struct {
		name   string
		server credentials.TransportCredentials
		client credentials.TransportCredentials
	}{
		{"tcp", insecure.NewCredentials(), insecure.NewCredentials()},
		{"tls", credentials.NewServerTLSFromCert(&cert), credentials.NewTLS(&tls.Config{RootCAs: pool, ServerName: "test.server"})},
	} {
		t.Run(over.name, func(t *testing.T) {
			s := serve(t, newEcho(), Creds(over.server))
			var ccs []*ClientConn
			for range contentionConns {
				ccs = append(ccs, newTestClient(t, s.addr, WithTransportCredentials(over.client)))
			}
			t.Run("unary", func(t *testing.T) { waitsForNoLock(t, ccs, contentionCalls, unaryOnce) })
			t.Run("streams", func(t *testing.T) { waitsForNoLock(t, ccs, contentionStreams, streamOnce) })
		})
	}
}

func unaryOnce(ctx context.Context, cc *ClientConn) error {
	return cc.Invoke(ctx, unaryMethod, &text{Value: "hello"}, new(text))
}

// streamOnce is a streaming call of three messages each way.
func streamOnce(ctx context.Context, cc *ClientConn) error {
	cs, err := cc.NewStream(ctx, &StreamDesc{ServerStreams: true, ClientStreams: true}, "/test.Echo/Bidi")
	if err != nil {
		return err
	}
	m := &text{Value: "hello"}
	for range 3 {
		if err := errors.Join(cs.SendMsg(m), cs.RecvMsg(m)); err != nil {
			return err
		}
	}
	if err := errors.Join(cs.CloseSend(), cs.RecvMsg(m)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("the end is %w", err)
	}
	return nil
}

// waitsForNoLock has count calls made by each caller, and looks at what they waited for.
func waitsForNoLock(t *testing.T, ccs []*ClientConn, count int, once func(context.Context, *ClientConn) error) {
	call := func(n int) {
		var all sync.WaitGroup
		for _, cc := range ccs {
			for range contentionCallers {
				all.Go(func() {
					ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
					defer cancel()
					for range n {
						if err := once(ctx, cc); err != nil {
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
	call(count)
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
		if strings.Contains(stack, "sync.(*Pool).pinSlow") {
			continue // once for each pool after a collection: one that was not used before all this
		}
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
