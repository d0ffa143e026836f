// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/benchmark/internal/workers"
)

// roamOptions are the flags of roaming.
type roamOptions struct {
	impls  string
	down   []time.Duration
	within time.Duration // how long after the link is back to give up
	runs   int
}

func parseRoam(args []string) (roamOptions, error) {
	var o roamOptions
	fs := flag.NewFlagSet("bench roam", flag.ContinueOnError)
	fs.StringVar(&o.impls, "impls", workers.Ours+","+workers.Published, implsHelp)
	down := fs.String("down", "2,10", "for how many seconds the link is down")
	fs.DurationVar(&o.within, "within", 90*time.Second, "how long to wait for the first success once the link is back")
	fs.IntVar(&o.runs, "runs", 1, "measurements of each, all at the same time")
	if err := parseFlags(fs, args); err != nil {
		return o, err
	}
	if o.runs < 1 || o.within <= 0 {
		return o, errors.New("-runs: at least one, and -within: some time")
	}
	for _, text := range strings.Split(*down, ",") {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || n < leastDown.Seconds() {
			return o, fmt.Errorf("-down %s: a number of seconds, %g at least, so that a call fails", text, leastDown.Seconds())
		}
		o.down = append(o.down, seconds(n))
	}
	return o, nil
}

// leastDown is the shortest outage in which a call certainly fails.
const leastDown = 1500 * time.Millisecond
