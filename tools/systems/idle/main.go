// SPDX-License-Identifier: Apache-2.0

// Command idle measures what idle connections of each kind cost on the system that it runs
// on:
//
//	idle [-n 100] [-kind tcp,tls] [-handshaker ADDR]
//
// It has both ends of each connection. For each kind it prints a line, separated by tabs: the
// kind, how many ends are parked, how many ends there are, and KB and goroutines per end. The
// memory is that of heap and stacks as Go's runtime counts it, so that the figures can also be
// compared under an emulator. It does not include the system's memory for sockets. For a kind
// that does not exist on this system, the line has the error. The exit code is 1 if RPCs fail.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/internal/park"
)

const (
	warm     = 10              // connections before the first measurement, so that it includes all that is allocated once
	patience = 6 * time.Second // how long to wait without a change, for a kind that does not park
)

func main() {
	n := flag.Int("n", 100, "connections of a kind")
	only := flag.String("kind", "", "kinds, separated by commas (default: all)")
	handshaker := flag.String("handshaker", "", "`address` of an ALTS handshaker service for tests; without, there is no row of ALTS")
	flag.Parse()
	if err := run(*n, *only, *handshaker); err != nil {
		fmt.Fprintln(os.Stderr, "idle:", err)
		os.Exit(1)
	}
}

func run(n int, only, handshaker string) (failed error) {
	s, err := newSite(handshaker)
	if err != nil {
		return err
	}
	defer os.RemoveAll(s.dir)
	for _, k := range kinds {
		if only != "" && !slices.Contains(strings.Split(only, ","), k.name) {
			continue
		}
		f, err := measure(s, k, n)
		switch {
		case errors.Is(err, errNone):
			fmt.Printf("%s\t-\t-\t-\t-\t%v\n", k.name, err)
		case err != nil:
			fmt.Printf("%s\t-\t-\t-\t-\tFAILED: %v\n", k.name, err)
			failed = fmt.Errorf("%s: %w", k.name, err)
		default:
			fmt.Printf("%s\t%d\t%d\t%.1f\t%.1f\n", k.name, f.parked, f.ends, f.kb, f.goroutines)
		}
	}
	return failed
}

// figures are the measurements of the ends of idle connections.
type figures struct {
	parked, ends   int
	kb, goroutines float64 // per end
}

func measure(s *site, k kind, n int) (_ figures, err error) {
	lis, err := k.listen(s)
	if err != nil {
		return figures{}, err
	}
	srv := grpc.NewServer(k.serverOptions(s)...)
	healthpb.RegisterHealthServer(srv, health.NewServer())
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	var conns []*grpc.ClientConn
	defer func() {
		for _, cc := range conns {
			cc.Close()
		}
		srv.Stop()
		err = errors.Join(err, <-served)
		settle(0)
	}()
	open := func(n int) error {
		for range n {
			cc, err := k.connect(s, lis.Addr().String())
			if err != nil {
				return err
			}
			conns = append(conns, cc)
		}
		return nil
	}
	if err := open(warm); err != nil {
		return figures{}, err
	}
	before := settle(2 * warm)
	if err := open(n); err != nil {
		return figures{}, err
	}
	after := settle(int64(2 * (warm + n)))
	ends := float64(2 * n)
	return figures{
		parked:     int(after.parked - before.parked),
		ends:       2 * n,
		kb:         float64(after.memory-before.memory) / ends / 1024,
		goroutines: float64(after.goroutines-before.goroutines) / ends,
	}, nil
}

// state is the state of the process.
type state struct {
	parked     int64
	goroutines int
	memory     int64
}

// settle waits until the given number of ends are parked, or the number no longer changes, and
// then until the number of goroutines no longer changes. It returns the state after that.
func settle(parked int64) state {
	stable(patience, func() (int64, bool) {
		now := park.ReadStats().Parked
		return now, now == parked
	})
	stable(time.Second, func() (int, bool) { return runtime.NumGoroutine(), false })
	debug.FreeOSMemory() // called twice, because only a second collection empties sync.Pools
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return state{park.ReadStats().Parked, runtime.NumGoroutine(), int64(m.HeapAlloc + m.StackInuse)}
}

// stable calls look until look returns true, or has returned the same value for the time quiet.
func stable[V cmp.Ordered](quiet time.Duration, look func() (V, bool)) {
	last, over := look()
	for since := time.Now(); !over && time.Since(since) < quiet; {
		time.Sleep(20 * time.Millisecond)
		var now V
		if now, over = look(); now != last {
			last, since = now, time.Now()
		}
	}
}
