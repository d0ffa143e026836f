// SPDX-License-Identifier: Apache-2.0

package crossing

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/attack/internal/process"
	"google.golang.org/grpc/codes"
)

// Config says what to do.
type Config struct {
	For       time.Duration
	Histories int    // how many each worker runs at most; 0: as many as there is time for
	Seed      uint64 // the first
	Pairs     []string
	Workers   int
	Show      bool // the first history
}

// Point is something that histories reach.
type Point int

// Points.
const (
	Calls Point = iota
	Conns
	ConnsEnded
	ClosedUnread
	Refusals
	Cuts
	Stalls
	Cancels
	Stops
	Waits
	LostStatuses // of a published client
	Locked
	Statuses
	Points = Statuses + 17
)

var pointNames = [Statuses]string{
	"calls", "connections", "ends of connections", "closes with unread input", "refused connections", "cuts", "stalls",
	"cancellations", "stops and drains", "waits for the clock", "failures that a published client takes for successes",
	"histories that end where the published module waits with a lock",
}

func (p Point) String() string {
	if p < Statuses {
		return pointNames[p]
	}
	return codes.Code(p - Statuses).String()
}

// Report is what was done and found.
type Report struct {
	Histories, Steps int
	Counts           [Points]int
	Took             time.Duration
	Failures         []string
}

// stride is the distance between the first seeds of two workers.
const stride = 1 << 32

// Run runs histories, worker by worker with the next pair, until the time is over or one fails.
func Run(ctx context.Context, c Config) (Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	begin := time.Now()
	var (
		r       Report
		mu      sync.Mutex
		workers sync.WaitGroup
		errs    = make([]error, c.Workers)
	)
	for i := range c.Workers {
		workers.Go(func() {
			var own Report
			errs[i] = work(ctx, c, c.Pairs[i%len(c.Pairs)], c.Seed+uint64(i)*stride, begin, &own)
			mu.Lock()
			defer mu.Unlock()
			r.add(own)
		})
	}
	workers.Wait()
	r.Took = time.Since(begin)
	for _, err := range errs {
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

func (r *Report) add(o Report) {
	r.Histories, r.Steps = r.Histories+o.Histories, r.Steps+o.Steps
	for p := range r.Counts {
		r.Counts[p] += o.Counts[p]
	}
	r.Failures = append(r.Failures, o.Failures...)
}

// split returns the implementations of a pair.
func split(pair string) (impls [2]string, err error) {
	client, server, _ := strings.Cut(pair, "-")
	for _, impl := range []string{client, server} {
		if impl != process.Ours && impl != process.Published {
			return impls, fmt.Errorf("a pair is a client and a server, such as %s-%s, and not %q", process.Ours, process.Published, pair)
		}
	}
	return [2]string{client, server}, nil
}

// work runs the histories of one pair.
func work(ctx context.Context, c Config, pair string, seed uint64, begin time.Time, r *Report) error {
	impls, err := split(pair)
	if err != nil {
		return err
	}
	programs, err := startBoth(ctx, impls)
	if err != nil {
		return err
	}
	defer func() { closeBoth(programs) }()
	first := seed
	for ; (c.Histories == 0 || r.Histories < c.Histories) && time.Since(begin) < c.For && ctx.Err() == nil; seed++ {
		w := &world{rng: rand.New(rand.NewPCG(seed, 0)), counts: &r.Counts}
		for i, name := range []string{"client", "server"} {
			w.parties[i] = &party{program: programs[i], name: name, log: &w.log}
		}
		w.play()
		r.Histories++
		r.Steps += w.steps
		if c.Show && seed == first {
			fmt.Println(w.story())
		}
		if errors.Is(w.failure, errLocked) {
			closeBoth(programs)
			if programs, err = startBoth(ctx, impls); err != nil {
				return err
			}
			continue
		}
		if w.failure != nil && ctx.Err() == nil {
			r.Failures = append(r.Failures, fmt.Sprintf("%s, seed %d: %v\n%s\n%s, seed %d: %.200s", pair, seed, w.failure, w.story(), pair, seed, w.failure))
			return nil
		}
	}
	return nil
}

func startBoth(ctx context.Context, impls [2]string) (both [2]*program, err error) {
	for i, impl := range impls {
		if both[i], err = start(ctx, impl); err != nil {
			return both, err
		}
	}
	return both, nil
}

func closeBoth(both [2]*program) {
	for _, p := range both {
		if p != nil {
			p.close()
		}
	}
}

// story is all that was ordered, and that happened.
func (w *world) story() string {
	lines := slices.Collect(func(yield func(string) bool) {
		for _, e := range w.log {
			if !yield(e.String()) {
				return
			}
		}
	})
	return strings.Join(lines, "\n")
}
