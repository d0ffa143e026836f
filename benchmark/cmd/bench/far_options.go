// SPDX-License-Identifier: Apache-2.0

package main

import (
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
	calls       int
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
	roundTrips := fs.String("rtt", "1,20,100,300", "round trips, in ms")
	rates := fs.String("rate", "0", "limits, in MB/s; 0 is none")
	losses := fs.String("loss", "0", "shares of segments that are lost, in %")
	congestion := fs.String("cc", "", "TCP's congestion control, such as bbr,cubic; the system's own if empty")
	over := fs.String("over", ops.TCP, "how to connect: tcp, tls")
	fs.Float64Var(&o.seconds, "seconds", 6, "how long each stream lasts")
	fs.IntVar(&o.calls, "calls", 5, "calls on each connection, in rows of calls")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	var err error
	o.cells, err = cross(*roundTrips, *rates, *losses, *congestion, *over)
	return o, err
}

// cross are all combinations, those of a limit together.
func cross(roundTrips, rates, losses, congestion, over string) (cells []cell, err error) {
	each := func(list string, do func(float64) error) error {
		for _, text := range strings.Split(list, ",") {
			n, err := strconv.ParseFloat(text, 64)
			if err == nil && n < 0 {
				err = strconv.ErrRange
			}
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
