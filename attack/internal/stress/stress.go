// SPDX-License-Identifier: Apache-2.0

// Package stress does everything at once, over every kind of connection, in one process:
// calls and streams with checksums, compressed and not, retried, cancelled, while sockets
// are closed below them and connections park and drain. What arrives has to be what was
// sent, calls whose sockets nobody touched have to succeed, and nothing may stay behind.
package stress

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/attack/internal/traffic"
	"google.golang.org/grpc/internal/mem"
	"google.golang.org/grpc/internal/park"
)

// Config says what to do.
type Config struct {
	For        time.Duration
	Links      []string
	Workers    int // for each link
	Handshaker string
}

// Report is what was done and found.
type Report struct {
	Calls, Failed, Streams, Cuts int64
	Parked                       int64 // how often a look found a connection parked
	Faults                       []string
}

// run is what is going on, and what was found.
type run struct {
	traffic.Tally
	parked atomic.Int64
}

// watchers is how many goroutines wait for events at most, as long as any connection is there.
const watchers = 3

// Run runs it.
func Run(ctx context.Context, c Config) (Report, error) {
	dir, err := os.MkdirTemp("", "stress")
	if err != nil {
		return Report{}, err
	}
	defer os.RemoveAll(dir)
	before, goroutines := mem.Default().Stats().Buffers, runtime.NumGoroutine()
	ctx, cancel := context.WithTimeout(ctx, c.For)
	defer cancel()
	var r run
	var cut traffic.Sockets
	var wg sync.WaitGroup
	for _, name := range c.Links {
		if err := r.start(ctx, &wg, place{config: c, name: name, dir: dir, cut: &cut}); err != nil {
			cancel()
			wg.Wait()
			return Report{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	wg.Go(func() { cut.Run(ctx) })
	wg.Go(func() { r.look(ctx) })
	wg.Wait()
	if slices.Contains(c.Links, traffic.ALTS) {
		goroutines += watchers // for the connection to the handshaker service, which stays
	}
	r.settle(before, goroutines)
	return Report{
		Calls: r.Calls.Load(), Failed: r.Failed.Load(), Streams: r.Streams.Load(),
		Cuts: cut.Cuts.Load(), Parked: r.parked.Load(), Faults: r.Faults(),
	}, nil
}

// place is where one link's clients work.
type place struct {
	config Config
	name   string
	dir    string
	cut    *traffic.Sockets
}

// start starts the servers of a link, and its clients.
func (r *run) start(ctx context.Context, wg *sync.WaitGroup, p place) error {
	l, err := traffic.NewLink(p.name, p.config.Handshaker)
	if err != nil {
		return err
	}
	for i, cut := range []*traffic.Sockets{nil, p.cut} {
		dir := fmt.Sprintf("%s/%s%d", p.dir, p.name, i)
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		stop, addr, err := l.Serve(dir, cut)
		if err != nil {
			return err
		}
		var clients sync.WaitGroup
		for range p.config.Workers {
			clients.Go(func() {
				w := traffic.Worker{Tally: &r.Tally, Link: l, Name: p.name, Addr: addr, Cut: cut}
				for ctx.Err() == nil {
					w.Life(ctx)
				}
			})
		}
		wg.Go(func() {
			clients.Wait()
			stop()
		})
	}
	return nil
}

// look counts parked connections now and then.
func (r *run) look(ctx context.Context) {
	for ctx.Err() == nil {
		r.parked.Add(park.ReadStats().Parked)
		traffic.Pause(ctx, 10*time.Millisecond)
	}
}

// settle waits for what has to go when everything is closed.
func (r *run) settle(buffers int64, goroutines int) {
	var lent int64
	var running int
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		lent, running = mem.Default().Stats().Buffers-buffers, runtime.NumGoroutine()-goroutines
		if lent == 0 && running <= 0 {
			return
		}
	}
	if lent != 0 {
		r.Fault("%d buffers of the pool were not given back", lent)
	}
	if running > 0 {
		r.Fault("%d goroutines stayed", running)
		r.Stacks()
	}
}
