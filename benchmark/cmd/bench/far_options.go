// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"strings"
	"time"

	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/workers"
)

// farOptions are the flags of the far path.
type farOptions struct {
	impls, rows string
	cells       []cell
	seconds     float64
	calls, runs int
}

func parseFar(args []string) (farOptions, error) {
	var o farOptions
	fs := flag.NewFlagSet("bench far", flag.ContinueOnError)
	fs.StringVar(&o.impls, "impls", workers.Ours+","+workers.Published, implsHelp)
	fs.StringVar(&o.rows, "rows", "^(down|up|call/3MiB)$", "regular expression: measure the rows it matches, of "+strings.Join(farRowNames(), ", "))
	roundTrips := fs.String("rtt", "1,20,100,300", "round trips, in ms; all combinations with -rate and -loss are measured. Without the three: these\n"+
		"without a limit, and two paths with a limit and 1 % of loss")
	rates := fs.String("rate", "0", "limits, in MB/s; 0 is none")
	losses := fs.String("loss", "0", "shares of segments that are lost, in %")
	congestion := fs.String("cc", "", "TCP's congestion control, such as bbr,cubic; the system's own if empty")
	over := fs.String("over", ops.TCP, "how to connect: tcp, tls")
	fs.Float64Var(&o.seconds, "seconds", 0, "how long each stream lasts; 0 is 4 s, or 30 round trips if that is longer")
	fs.IntVar(&o.runs, "runs", 1, "measurements of each, in turn")
	fs.IntVar(&o.calls, "calls", 5, "calls on each connection, in rows of calls")
	if err := parseFlags(fs, args); err != nil {
		return o, err
	}
	given := false
	fs.Visit(func(f *flag.Flag) { given = given || f.Name == "rtt" || f.Name == "rate" || f.Name == "loss" })
	if o.runs < 1 || o.calls < 1 {
		return o, errors.New("-runs and -calls: at least one")
	}
	var err error
	if o.cells, err = cross(*roundTrips, *rates, *losses, *congestion, *over); err != nil || given {
		return o, err
	}
	for _, lossy := range [][2]string{{"50", "12.5"}, {"150", "1.25"}} {
		more, err := cross(lossy[0], lossy[1], "1", *congestion, *over)
		if err != nil {
			return o, err
		}
		o.cells = append(o.cells, more...)
	}
	return o, nil
}

// lasts is how long a stream over a path lasts: until long after windows have grown.
func (o farOptions) lasts(c cell) time.Duration {
	if o.seconds > 0 {
		return seconds(o.seconds)
	}
	return max(4*time.Second, 30*c.RoundTrip)
}
