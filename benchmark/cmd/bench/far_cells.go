// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/internal/farpath"
)

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
