// SPDX-License-Identifier: Apache-2.0

// Command stress runs everything that this module does with connections at once, in one
// process, and fails if a message was damaged, a call failed that nothing explains, or
// anything stayed behind. Its builds make it strict:
//
//	go run -race ./cmd/stress                          races, and pools that check how they are used
//	go run -tags grpcpoison,grpceager ./cmd/stress     the same pools without races; connections park at once
//
// With -hunt it calls between this module and the published one instead, each in a process of its own, beside
// neighbours that send what they like:
//
//	go run ./cmd/stress -hunt 20000000
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/attack/internal/cloud"
	"google.golang.org/grpc/attack/internal/hunt"
	"google.golang.org/grpc/attack/internal/process"
	"google.golang.org/grpc/attack/internal/stress"
	"google.golang.org/grpc/attack/internal/traffic"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "stress:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	var c stress.Config
	fs := flag.NewFlagSet("stress", flag.ContinueOnError)
	fs.DurationVar(&c.For, "for", 30*time.Second, "how long")
	fs.IntVar(&c.Workers, "workers", 2, "clients of each server; each link has two")
	over := fs.String("over", "plain,unix,tls,alts", "links, separated by commas")
	fs.StringVar(&c.Handshaker, "handshaker", "", "address of the ALTS handshaker service; it is started where that is empty")
	var h hunt.Config
	fs.Int64Var(&h.Calls, "hunt", 0, "make so many calls between this module and the published one, beside neighbours that send what they like")
	pairs := fs.String("pairs", "ours-published,published-ours", "of a hunt: callers and servers")
	fs.DurationVar(&h.Patience, "patience", 20*time.Second, "of a hunt: how long a call may take")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("stress takes flags alone, and not %q", fs.Arg(0))
	}
	c.Links = strings.Split(*over, ",")
	if h.Calls > 0 {
		h.Pairs, h.Workers = strings.Split(*pairs, ","), c.Workers
		h.Links = slices.DeleteFunc(c.Links, func(s string) bool { return s == traffic.ALTS })
		return between(ctx, h)
	}
	if slices.Contains(c.Links, traffic.ALTS) && c.Handshaker == "" {
		err := onPlatform(ctx)
		if !errors.Is(err, errNoPlatform) {
			return err
		}
		fmt.Println("without ALTS:", err)
		c.Links = slices.DeleteFunc(c.Links, func(s string) bool { return s == traffic.ALTS })
	}
	report, err := stress.Run(ctx, c)
	if err != nil {
		return err
	}
	fmt.Printf("%d calls, %d of them streams; %d sockets cut, %d calls failed by that; %d looks at parked connections\n",
		report.Calls, report.Streams, report.Cuts, report.Failed, report.Parked)
	return tell(report.Faults)
}

// tell prints faults; they are an error.
func tell(faults []string) error {
	for _, f := range faults {
		fmt.Println("FAULT", f)
	}
	if n := len(faults); n > 0 {
		return fmt.Errorf("%d faults, or more", n)
	}
	return nil
}

// between hunts.
func between(ctx context.Context, h hunt.Config) error {
	r, err := hunt.Run(ctx, h)
	if err != nil {
		return err
	}
	fmt.Printf("%d calls in %v, %.0f a minute, %d of them streams; clients have cut %d sockets, %d calls failed by cuts; "+
		"%d calls to strange servers; neighbours had %d connections\n",
		r.Calls, r.Took.Round(time.Second), float64(r.Calls)/r.Took.Minutes(), r.Streams, r.Cuts, r.Failed, r.Strange, r.Neighbours)
	return tell(r.Faults)
}

var errNoPlatform = errors.New("no platform for ALTS")

// onPlatform runs this program once more, where it takes the machine for one of Google's
// and finds a handshaker service: ALTS needs both.
func onPlatform(ctx context.Context) error {
	if err := cloud.Check(); err != nil {
		return fmt.Errorf("%w: %w", errNoPlatform, err)
	}
	addr, stop, err := process.StartHandshaker(ctx)
	if err != nil {
		return err
	}
	defer stop()
	return cloud.Again(ctx, "-handshaker", addr)
}
