// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/workers"
	"google.golang.org/grpc/internal/farpath"
)

// farOptions are the flags of the far path.
type farOptions struct {
	impls, rows string
	cells       []cell
	seconds     float64
	calls, runs int
}

// cell is a path, and what is spoken over it.
type cell struct {
	RoundTrip  time.Duration
	Rate       float64 // bytes a second, 0 for no limit
	Loss       float64
	Congestion string // "" for the system's own
	Over       string // tcp or tls
}

func (c cell) shape() farpath.Shape {
	return farpath.Shape{RoundTrip: c.RoundTrip, Rate: c.Rate, Loss: c.Loss}
}

// window is over how long a rate is taken: what a window carries may come at once, each
// round trip.
func (c cell) window() time.Duration { return max(c.RoundTrip, 200*time.Millisecond) }

func (c cell) String() string {
	text := fmt.Sprintf("%v", c.RoundTrip)
	if c.Rate > 0 {
		text += fmt.Sprintf(", %g MB/s", c.Rate/1e6)
	}
	if c.Loss > 0 {
		text += fmt.Sprintf(", %g %% lost", 100*c.Loss)
	}
	if c.Congestion != "" {
		text += ", " + c.Congestion
	}
	return text + ", " + c.Over
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
	if err := fs.Parse(args); err != nil {
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

// cross are all combinations, those of a limit together.
func cross(roundTrips, rates, losses, congestion, over string) (cells []cell, err error) {
	each := func(list string, do func(float64) error) error {
		for _, text := range strings.Split(list, ",") {
			n, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return fmt.Errorf("%q in %q: %w", text, list, err)
			}
			if err := do(n); err != nil {
				return err
			}
		}
		return nil
	}
	for _, secured := range strings.Split(over, ",") {
		if secured != ops.TCP && secured != ops.TLS {
			return nil, fmt.Errorf("-over %s: a path carries tcp and tls", secured)
		}
		for _, cc := range strings.Split(congestion, ",") {
			err = each(losses, func(loss float64) error {
				return each(rates, func(rate float64) error {
					return each(roundTrips, func(rtt float64) error {
						if rtt <= 0 || rate < 0 || loss < 0 || loss >= 100 {
							return fmt.Errorf("there is no path with a round trip of %g ms, %g MB/s, and %g %% of loss", rtt, rate, loss)
						}
						cells = append(cells, cell{
							RoundTrip:  time.Duration(rtt * float64(time.Millisecond)),
							Rate:       rate * 1e6,
							Loss:       loss / 100,
							Congestion: cc,
							Over:       secured,
						})
						return nil
					})
				})
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return cells, nil
}
