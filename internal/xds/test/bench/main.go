// SPDX-License-Identifier: Apache-2.0

// Command bench measures a client that a control plane leads, built with this module and with the
// published one, beside each other: what it holds, and what changes cost. The control plane,
// go-control-plane's, and the servers are in this process.
//
//	make bench ARGS=xds
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"
)

// row is a figure; less is better.
type row struct {
	name, unit string
	measure    func(*bench) (float64, error)
}

// rows are measured in turn, each with a client that lives from one to the next.
var rows = []row{
	{"1,000 endpoints in 10 clusters, connected and at rest: RSS above 10 endpoints", "KiB", (*bench).connected},
	{"  heap above it", "KiB", func(b *bench) (float64, error) { return b.heap, nil }},
	{"  goroutines above it", "", func(b *bench) (float64, error) { return b.goroutines, nil }},
	{"a pick through all policies", "ns", (*bench).pick},
	{"  allocations", "", func(b *bench) (float64, error) { return b.allocs, nil }},
	{"from an EDS update to the first RPC there", "us", (*bench).reaction},
	{"CPU of 100 EDS updates a second, of a second's", "%", (*bench).updates},
	{"100 channels to one target, 10 endpoints: RSS above one", "KiB", (*bench).channels},
	{"  heap above it", "KiB", func(b *bench) (float64, error) { return b.heap, nil }},
	{"  ADS streams", "", func(b *bench) (float64, error) { return b.streams, nil }},
	{"1,000 endpoints in 10 clusters, idle (ring_hash, no RPCs): RSS above 10 endpoints", "KiB", (*bench).idle},
	{"  heap above it", "KiB", func(b *bench) (float64, error) { return b.heap, nil }},
	{"  connections above it", "", func(b *bench) (float64, error) { return b.opened, nil }},
	{"a process that has no channel: RSS", "KiB", (*bench).empty},
	{"  heap", "KiB", func(b *bench) (float64, error) { return b.heap, nil }},
}

func main() {
	pairs := flag.Int("pairs", 3, "measurements of each row and implementation, in turn")
	flag.StringVar(&profiles, "profiles", "", "folder for profiles of the clients, whose names begin with that of the modfile")
	flag.Parse()
	if err := run(*pairs); err != nil {
		log.Fatal(err)
	}
}

func run(pairs int) error {
	dir, err := os.MkdirTemp("", "xds-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	impls := []string{"go.mod", "published.mod"}
	programs := make([]string, len(impls))
	for i, modfile := range impls {
		programs[i] = filepath.Join(dir, modfile)
		if err := build(modfile, programs[i]); err != nil {
			return err
		}
	}
	w, err := newWorld(1000)
	if err != nil {
		return err
	}
	defer w.stop()
	figures := make([][2][]float64, len(rows))
	for range pairs {
		for i, program := range programs {
			got, err := measure(w, program)
			if err != nil {
				return fmt.Errorf("%s: %w", impls[i], err)
			}
			for r := range rows {
				figures[r][i] = append(figures[r][i], got[r])
			}
		}
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "median\tthis module\tpublished\tratio\t")
	for r := range rows {
		ours, theirs := median(figures[r][0]), median(figures[r][len(impls)-1])
		fmt.Fprintf(table, "%s\t%.4g %s\t%.4g %s\t%.2f\t\n", rows[r].name, ours, rows[r].unit, theirs, rows[r].unit, ours/theirs)
	}
	return table.Flush()
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// bench is what is known of one client.
type bench struct {
	*world
	*client
	program          string
	heap, goroutines float64
	allocs, streams  float64
	opened           float64
}

func measure(w *world, program string) (figures []float64, err error) {
	b := &bench{world: w, program: program}
	defer func() { b.end() }()
	for _, r := range rows {
		v, err := r.measure(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.name, err)
		}
		figures = append(figures, v)
	}
	return figures, nil
}

// profile has the client write a profile, if profiles are wanted.
func (b *bench) profile(command, name string) {
	if profiles == "" {
		return
	}
	if name != "" {
		name = filepath.Join(profiles, filepath.Base(b.program)+"."+name)
	}
	if _, err := b.do(command + " " + name); err != nil {
		log.Printf("profile: %v", err)
	}
}

// restart begins with a client that has a channel, connected to an endpoint of each cluster.
func (b *bench) restart() (before answer, err error) {
	b.end()
	if err := b.say(1); err != nil {
		return before, err
	}
	if b.client, err = start(b.program, b.bootstrap()); err != nil {
		return before, err
	}
	for _, command := range []string{"channels 1", "calls 1"} {
		if _, err := b.do(command); err != nil {
			return before, err
		}
	}
	return b.do("memory")
}

// empty has a process that does nothing: what the other rows leave out, but for what the first
// resources of each kind have protobuf make.
func (b *bench) empty() (rss float64, err error) {
	b.end()
	if b.client, err = start(b.program, b.bootstrap()); err != nil {
		return 0, err
	}
	a, err := b.do("memory")
	b.heap = float64(a.Heap) / 1024
	return float64(a.RSS) / 1024, err
}

func (b *bench) connected() (float64, error) {
	before, err := b.restart()
	if err != nil {
		return 0, err
	}
	if err := b.say(100); err != nil {
		return 0, err
	}
	if err := b.await(1000); err != nil {
		return 0, err
	}
	if _, err := b.do("calls 300"); err != nil {
		return 0, err
	}
	after, err := b.do("memory")
	b.profile("heap", "connected")
	b.heap = float64(after.Heap-before.Heap) / 1024
	b.goroutines = float64(after.Goroutines - before.Goroutines)
	return float64(after.RSS-before.RSS) / 1024, err
}

// idle has a client know of endpoints that no RPC has needed yet.
func (b *bench) idle() (float64, error) {
	b.lazy = true
	defer func() { b.lazy = false }()
	before, err := b.restart()
	if err != nil {
		return 0, err
	}
	conns := b.conns.Load()
	if err := b.say(100); err != nil {
		return 0, err
	}
	if err := b.awaitTaken(); err != nil {
		return 0, err
	}
	after, err := b.do("memory")
	b.profile("heap", "idle")
	b.heap = float64(after.Heap-before.Heap) / 1024
	b.opened = float64(b.conns.Load() - conns)
	return float64(after.RSS-before.RSS) / 1024, err
}

func (b *bench) pick() (float64, error) {
	a, err := b.do("pick")
	b.allocs = a.Allocs
	return a.Nanos, err
}

// reaction is the median of some.
func (b *bench) reaction() (float64, error) {
	if _, err := b.do("load"); err != nil {
		return 0, err
	}
	var list []float64
	for i := range 15 {
		fresh, err := b.newServer()
		if err != nil {
			return 0, err
		}
		began := time.Now()
		if err := b.say(100, fresh); err != nil {
			return 0, err
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		select {
		case <-fresh.called:
		case <-ctx.Done():
		}
		cancel()
		if i > 2 {
			list = append(list, float64(time.Since(began).Microseconds()))
		}
	}
	_, err := b.do("rest")
	return median(list), err
}

// updates is how much CPU a client needs that is told something every 10 ms.
func (b *bench) updates() (float64, error) {
	before, err := b.do("cpu")
	if err != nil {
		return 0, err
	}
	const n = 300
	b.profile("profile", "updates")
	began := time.Now()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for i := range n {
		<-tick.C
		if err := b.say(99 + i%2); err != nil {
			return 0, err
		}
	}
	after, err := b.do("cpu")
	b.profile("profiled", "")
	return 100 * (after.CPU - before.CPU) / time.Since(began).Seconds(), err
}

func (b *bench) channels() (float64, error) {
	before, err := b.restart()
	if err != nil {
		return 0, err
	}
	opened := b.openedStreams()
	for _, command := range []string{"channels 99", "calls 1"} {
		if _, err := b.do(command); err != nil {
			return 0, err
		}
	}
	after, err := b.do("memory")
	b.profile("heap", "channels")
	b.heap = float64(after.Heap-before.Heap) / 1024
	b.streams = float64(b.openedStreams() - opened + 1)
	return float64(after.RSS-before.RSS) / 1024, err
}
