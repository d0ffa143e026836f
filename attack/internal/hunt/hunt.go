// SPDX-License-Identifier: Apache-2.0

// Package hunt has clients of one implementation call servers of the other, each in a process of its own. Beside
// these run clients that send arbitrary bytes, sockets are cut, and descriptors are used again. Which outcomes of a
// call are failures, package stress says. When a call hangs, it records what the goroutines of all processes do.
package hunt

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/attack/internal/neighbour"
	"google.golang.org/grpc/attack/internal/peer"
	"google.golang.org/grpc/attack/internal/process"
	"google.golang.org/grpc/attack/internal/traffic"
)

// Config says what to do.
type Config struct {
	Calls    int64    // how many, in all
	Pairs    []string // "ours-published": clients of ours, servers of the published module
	Links    []string
	Workers  int // for each address of a pair
	Patience time.Duration
}

// Report is what was done and found.
type Report struct {
	peer.Report
	Neighbours int64 // connections of theirs
	Took       time.Duration
}

// Run runs it.
func Run(ctx context.Context, c Config) (Report, error) {
	dir, err := os.MkdirTemp("", "hunt")
	if err != nil {
		return Report{}, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h := hunt{config: c, dir: dir, prefix: time.Now().Format("hunt-150405-")}
	defer h.end()
	var pairs []pair
	for i, name := range c.Pairs {
		p, err := h.pair(ctx, i, name)
		if err != nil {
			return Report{}, fmt.Errorf("%s: %w", name, err)
		}
		pairs = append(pairs, p)
	}
	begin := time.Now()
	var callers sync.WaitGroup
	for _, p := range pairs {
		callers.Go(func() { h.follow(p) })
	}
	callers.Wait()
	h.report.Took = time.Since(begin)
	cancel()
	h.beside.Wait()
	h.report.Neighbours = h.neighbours.Load()
	return h.report, nil
}

// hunt is what is going on.
type hunt struct {
	config     Config
	dir        string
	prefix     string // of the names of logs
	all        []*child
	beside     sync.WaitGroup
	neighbours atomic.Int64

	mu     sync.Mutex
	report Report
}

// pair is clients and the servers that they call.
type pair struct {
	name   string
	client *child
}

// pair starts both sides, and their neighbours.
func (h *hunt) pair(ctx context.Context, i int, name string) (p pair, err error) {
	callers, servers, err := split(name)
	if err != nil {
		return p, err
	}
	dir := filepath.Join(h.dir, fmt.Sprint(i))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return p, err
	}
	server, err := h.start(ctx, servers, name+"-server")
	if err != nil {
		return p, err
	}
	if err := server.order(peer.Order{Serve: h.config.Links, Dir: dir}); err != nil {
		return p, err
	}
	places, err := answer[peer.Places](server)
	if err != nil {
		return p, err
	}
	for link, addrs := range places {
		for _, addr := range addrs {
			h.beside.Go(func() { neighbour.Disturb(ctx, network(link), addr, &h.neighbours) })
		}
	}
	strange, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return p, err
	}
	h.beside.Go(func() { neighbour.Serve(ctx, strange, &h.neighbours) })
	p.name = name
	if p.client, err = h.start(ctx, callers, name+"-client"); err != nil {
		return p, err
	}
	return p, p.client.order(peer.Order{
		Call: places, Strange: []string{strange.Addr().String()}, Workers: h.config.Workers,
		Calls: h.config.Calls / int64(len(h.config.Pairs)), Patience: h.config.Patience,
	})
}

func network(link string) string {
	if link == traffic.Unix {
		return "unix"
	}
	return "tcp"
}

// follow waits for what the clients of a pair report, and has all processes say what they do when a
// call hangs.
func (h *hunt) follow(p pair) {
	r, err := answer[peer.Report](p.client, h.askAll)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		h.report.Faults = append(h.report.Faults, fmt.Sprintf("%s: %v; see %s", p.name, err, p.client.log.Name()))
		return
	}
	t := &h.report.Report
	t.Calls, t.Failed, t.Streams = t.Calls+r.Calls, t.Failed+r.Failed, t.Streams+r.Streams
	t.Cuts, t.Strange = t.Cuts+r.Cuts, t.Strange+r.Strange
	for _, f := range r.Faults {
		t.Faults = append(t.Faults, p.name+": "+f)
	}
}

// askAll has all processes print what their goroutines do.
func (h *hunt) askAll() {
	for _, c := range h.all {
		c.say(peer.StacksPlease)
	}
	h.sockets()
}

func (h *hunt) end() {
	for _, c := range h.all {
		c.close()
	}
}

func split(pair string) (callers, servers string, err error) {
	for _, a := range []string{process.Ours, process.Published} {
		for _, b := range []string{process.Ours, process.Published} {
			if pair == a+"-"+b {
				return a, b, nil
			}
		}
	}
	return "", "", fmt.Errorf("a pair is callers and servers, such as %s-%s", process.Ours, process.Published)
}
