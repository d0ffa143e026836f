// SPDX-License-Identifier: Apache-2.0

// Command stress runs everything that this module does with connections at once, in one
// process, and fails if a message was damaged, a call failed that nothing explains, or
// anything stayed behind. Its builds make it strict:
//
//	go run -race ./cmd/stress                          races, and pools that check how they are used
//	go run -tags grpcpoison,grpceager ./cmd/stress     the same pools without races; connections park at once
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
	"google.golang.org/grpc/attack/internal/process"
	"google.golang.org/grpc/attack/internal/stress"
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
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("stress takes flags alone, and not %q", fs.Arg(0))
	}
	c.Links = strings.Split(*over, ",")
	if slices.Contains(c.Links, stress.ALTS) && c.Handshaker == "" {
		err := onPlatform(ctx)
		if !errors.Is(err, errNoPlatform) {
			return err
		}
		fmt.Println("without ALTS:", err)
		c.Links = slices.DeleteFunc(c.Links, func(s string) bool { return s == stress.ALTS })
	}
	report, err := stress.Run(ctx, c)
	if err != nil {
		return err
	}
	fmt.Printf("%d calls, %d of them streams; %d sockets cut, %d calls failed by that; %d looks at parked connections\n",
		report.Calls, report.Streams, report.Cuts, report.Failed, report.Parked)
	for _, f := range report.Faults {
		fmt.Println("FAULT", f)
	}
	if n := len(report.Faults); n > 0 {
		return fmt.Errorf("%d faults, or more", n)
	}
	return nil
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
