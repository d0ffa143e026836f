// SPDX-License-Identifier: Apache-2.0

// Command crossing simulates clients and servers of this module and of the published one beside each other,
// over a network and a clock that a seed decides on (package crossing). A history that fails is printed,
// with the goroutines of both sides.
//
//	go run ./cmd/crossing -for 20s -seed 7
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"time"

	"google.golang.org/grpc/attack/internal/crossing"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "crossing:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var c crossing.Config
	flag.DurationVar(&c.For, "for", 20*time.Second, "how long")
	flag.IntVar(&c.Histories, "histories", 0, "how many histories each worker runs at most; 0: as many as there is time for")
	flag.Uint64Var(&c.Seed, "seed", rand.Uint64()>>24, "the first seed")
	flag.IntVar(&c.Workers, "workers", max(2, runtime.NumCPU()), "how many pairs of processes there are")
	flag.BoolVar(&c.Show, "show", false, "print the first history")
	pairs := flag.String("pairs", "ours-published,published-ours", "clients and servers")
	flag.Parse()
	c.Pairs = strings.Split(*pairs, ",")
	r, err := crossing.Run(ctx, c)
	if err != nil {
		return err
	}
	fmt.Printf("%d histories in %v, %.0f a minute, %d steps\n", r.Histories, r.Took.Round(time.Second),
		float64(r.Histories)/r.Took.Minutes(), r.Steps)
	for p, n := range r.Counts {
		if n > 0 {
			fmt.Printf("%12d  %v\n", n, crossing.Point(p))
		}
	}
	for _, f := range r.Failures {
		fmt.Println("FAULT", f)
	}
	if n := len(r.Failures); n > 0 {
		return fmt.Errorf("%d histories failed", n)
	}
	return nil
}
