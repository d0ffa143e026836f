// SPDX-License-Identifier: Apache-2.0

// Command matrix runs every interoperability case between this module and the published
// google.golang.org/grpc, in both directions, over TCP, TLS and unix sockets, with this
// module's read-buffer pooling on and off, and prints the results. Run it in the root of
// the module; `make interop` does.
//
//	matrix [-pairs 'ours>ours,ours>published,published>ours'] [-case all] [-race]
//	matrix -foreign 'linux/s390x qemu-s390x' [-pairs 'ours>foreign,foreign>ours']
//
// A pair names the client's implementation, and then the server's. The implementation foreign is
// this module on another system: -foreign names the system, followed by the command that runs
// its programs.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"time"

	"google.golang.org/grpc/interop/internal/programs"
	"google.golang.org/grpc/interop/testcerts"
)

type options struct {
	pairs   []pair
	foreign abroad
	cases   string
	race    bool
	workers int
}

func main() {
	var o options
	pairs := flag.String("pairs", "", "client>server pairs, separated by commas (default "+defaultPairs+", with -foreign "+foreignPairs+")")
	system := flag.String("foreign", "", "`GOOS/GOARCH COMMAND...` of the implementation foreign")
	flag.StringVar(&o.cases, "case", "all", "cases to run, separated by commas, or all")
	flag.BoolVar(&o.race, "race", false, "build this module's programs with the race detector")
	flag.IntVar(&o.workers, "workers", 2*runtime.GOMAXPROCS(0), "clients at a time")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o.foreign = parseAbroad(*system)
	var err error
	if o.pairs, err = parsePairs(cmp.Or(*pairs, o.foreign.pairs())); err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		os.Exit(2)
	}
	failed, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		os.Exit(2)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (failed int, err error) {
	start := time.Now()
	dir, err := os.MkdirTemp("", "interop")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	certs, err := testcerts.Write(dir)
	if err != nil {
		return 0, err
	}
	progs := make(map[string]programs.Programs)
	for _, impl := range implementations(o.pairs) {
		fmt.Println("building", impl)
		if impl == foreign {
			progs[impl], err = programs.BuildFor(ctx, o.foreign.system, dir)
		} else {
			progs[impl], err = programs.Build(ctx, impl, dir, o.race)
		}
		if err != nil {
			return 0, err
		}
	}
	legs := plan(o.pairs, o.foreign.transports())
	fmt.Printf("running %d combinations\n", len(legs))
	servers := newServerSet(ctx, dir, certs, progs)
	servers.foreign = o.foreign
	runLegs(ctx, legs, o.workers, func(l *leg) {
		l.results, l.err = servers.runClient(l, o.cases)
	})
	crashed := servers.stop()
	failed = report(os.Stdout, legs) + crashed
	fmt.Printf("took %v\n", time.Since(start).Round(time.Second))
	return failed, ctx.Err()
}

// runLegs calls do for every leg, for at most workers of them at a time.
func runLegs(ctx context.Context, legs []*leg, workers int, do func(*leg)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, max(workers, 1))
	for _, l := range legs {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			do(l)
			<-slots
		})
	}
	wg.Wait()
}
