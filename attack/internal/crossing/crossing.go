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
	paths := map[string]string{} // of the sides' programs, by implementation
	var pairs [][2]string
	for _, name := range c.Pairs {
		pair, err := split(name)
		if err != nil {
			return Report{}, err
		}
		pairs = append(pairs, pair)
		for _, impl := range pair {
			if paths[impl] == "" {
				if paths[impl], err = process.BuildSide(ctx, impl); err != nil {
					return Report{}, err
				}
			}
		}
	}
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
			w := worker{Config: c, paths: paths, pair: pairs[i%len(pairs)], begin: begin, Report: &own}
			errs[i] = w.run(ctx, c.Seed+uint64(i)*stride)
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

// worker runs the histories of one pair.
type worker struct {
	Config
	paths    map[string]string
	pair     [2]string
	begin    time.Time
	programs [2]*program
	*Report
}

func (w *worker) run(ctx context.Context, seed uint64) error {
	defer w.closeBoth()
	if err := w.startBoth(ctx); err != nil {
		return err
	}
	first := seed
	for ; (w.Config.Histories == 0 || w.Report.Histories < w.Config.Histories) && time.Since(w.begin) < w.For && ctx.Err() == nil; seed++ {
		h := w.history(seed)
		h.play()
		w.Report.Histories++
		w.Steps += h.steps
		if w.Show && seed == first {
			fmt.Println(h.story())
		}
		if errors.Is(h.failure, errLocked) {
			w.closeBoth()
			if err := w.startBoth(ctx); err != nil {
				return err
			}
			continue
		}
		if h.failure != nil && ctx.Err() == nil {
			name := fmt.Sprintf("%s-%s, seed %d", w.pair[0], w.pair[1], seed)
			w.Failures = append(w.Failures, fmt.Sprintf("%s: %v\n%s\n%s: %.200s", name, h.failure, h.story(), name, h.failure))
			return nil
		}
	}
	return nil
}

func (w *worker) history(seed uint64) *world {
	h := &world{rng: rand.New(rand.NewPCG(seed, 0)), counts: &w.Counts}
	for i, name := range []string{"client", "server"} {
		h.parties[i] = &party{program: w.programs[i], name: name, log: &h.log}
	}
	return h
}

func (w *worker) startBoth(ctx context.Context) (err error) {
	for i, impl := range w.pair {
		if w.programs[i], err = start(ctx, impl, w.paths[impl]); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) closeBoth() {
	for i, p := range w.programs {
		if p != nil {
			p.close()
			w.programs[i] = nil
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
