// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/benchmark/benchpb"
	"google.golang.org/grpc/benchmark/internal/bare"
	"google.golang.org/grpc/benchmark/internal/calls"
	"google.golang.org/grpc/benchmark/internal/control"
	"google.golang.org/grpc/benchmark/internal/handed"
	"google.golang.org/grpc/benchmark/internal/link"
	"google.golang.org/grpc/benchmark/internal/load"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/connectivity"
)

// opening is how many connections are made at the same time: few enough for the queue of
// a listener.
const opening = 16

// channels are a client's connections.
type channels struct {
	dialer   *link.Dialer
	protocol string
	conns    []*grpc.ClientConn
	raws     []net.Conn   // without gRPC
	bares    []*bare.Conn // over raws, if that is the protocol
	// watches are the open streams.
	watches struct {
		sync.Mutex
		all []benchpb.Bench_WatchClient
	}
	// listeners count the states on watches that have no goroutine; these are not in watches.
	listeners listeners
}

// listeners count the states that come.
type listeners struct {
	mu    sync.Mutex
	all   int
	heard int            // states that have come
	seen  map[string]int // of each text, how often
	news  sync.Cond
	ears  *handed.Listeners
}

func (l *listeners) init() {
	l.news.L = &l.mu
	l.ears = handed.NewListeners(l.see)
}

func (l *listeners) see(m *benchpb.State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil {
		l.seen = make(map[string]int)
	}
	l.heard++
	l.seen[m.GetText()]++
	l.news.Broadcast()
}

// await waits until all have seen text, and returns how many there are.
func (l *listeners) await(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.seen[text] < l.all {
		l.news.Wait()
	}
	return l.all
}

// awaitFirst follows the opening of streams, before which all and heard were as given: it waits
// until each has seen a state, as the server then knows of it.
func (l *listeners) awaitFirst(all, heard int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.heard-heard < l.all-all {
		l.news.Wait()
	}
}

// counts are how many listeners there are, and how many states they have seen.
func (l *listeners) counts() (all, heard int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all, l.heard
}

// targets are the connections in the form that load needs.
func (c *channels) targets() load.Targets {
	t := load.Targets{Raws: c.raws}
	for _, cc := range c.conns {
		t.Clients = append(t.Clients, benchpb.NewBenchClient(cc))
	}
	for _, b := range c.bares {
		t.Clients = append(t.Clients, benchpb.NewBenchClient(b))
	}
	return t
}

// open opens more connections.
func (c *channels) open(ctx context.Context, args ops.Open, progress control.Progress) (ops.Opened, error) {
	start := time.Now()
	if c.protocol != ops.GRPC {
		for range args.Connections {
			conn, err := c.dialer.Raw(len(c.raws))
			if err != nil {
				return ops.Opened{}, err
			}
			c.raws = append(c.raws, conn)
			if c.protocol == ops.Bare {
				c.bares = append(c.bares, bare.NewConn(conn))
			}
		}
		return ops.Opened{Connections: len(c.raws), Took: time.Since(start)}, nil
	}
	first := len(c.conns)
	all, heard := c.listeners.counts()
	c.conns = append(c.conns, make([]*grpc.ClientConn, args.Connections)...)
	err := calls.Each(opening, args.Connections, progress, func(i int) error {
		i += first
		if err := c.openOne(ctx, args, i); err != nil {
			return fmt.Errorf("connection %d: %w", i, err)
		}
		return nil
	})
	if err == nil {
		c.listeners.awaitFirst(all, heard)
	}
	return ops.Opened{Connections: len(c.conns), Took: time.Since(start)}, err
}

func (c *channels) openOne(ctx context.Context, args ops.Open, i int) error {
	cc, err := c.dialer.Channel(i)
	if err != nil {
		return err
	}
	c.conns[i] = cc
	if args.Connect {
		if err := connect(ctx, cc); err != nil {
			return err
		}
	}
	client := benchpb.NewBenchClient(cc)
	for range args.Calls {
		if err := calls.Echo(ctx, client, args.MessageSize); err != nil {
			return err
		}
	}
	if args.Stall > 0 {
		if _, err := client.Pull(ctx, &benchpb.PullRequest{Size: uint32(args.Stall)}); err != nil {
			return err
		}
	}
	for range args.Watches() {
		if err := c.watch(ctx, client); err != nil {
			return err
		}
	}
	return nil
}

// connect waits until a channel is ready.
func connect(ctx context.Context, cc *grpc.ClientConn) error {
	cc.Connect()
	for {
		state := cc.GetState()
		switch {
		case state == connectivity.Ready:
			return nil
		case state == connectivity.TransientFailure || !cc.WaitForStateChange(ctx, state):
			return fmt.Errorf("a channel is in %v", state)
		}
	}
}

// watch leaves a stream open.
func (c *channels) watch(ctx context.Context, client benchpb.BenchClient) error {
	if handed.On() {
		if err := c.listeners.ears.Listen(ctx, client); err != nil {
			return err
		}
		c.listeners.mu.Lock()
		c.listeners.all++
		c.listeners.mu.Unlock()
		return nil
	}
	watch, err := client.Watch(ctx, &benchpb.WatchRequest{})
	if err != nil {
		return err
	}
	c.watches.Lock()
	c.watches.all = append(c.watches.all, watch)
	c.watches.Unlock()
	_, err = watch.Recv()
	return err
}

// callAll calls once on every connection, and awaits an event on every open stream.
func (c *channels) callAll(ctx context.Context, args ops.CallAll, progress control.Progress) (ops.Answered, error) {
	answered, err := calls.All(ctx, c.targets().Clients, args.Callers, progress)
	if err != nil || !args.Publish || len(c.conns) == 0 {
		return answered, err
	}
	answered.Events, err = c.publish(ctx, time.Now().String())
	return answered, err
}

// publish makes text the state, and returns how many watches saw it.
func (c *channels) publish(ctx context.Context, text string) (int, error) {
	_, err := benchpb.NewBenchClient(c.conns[0]).Publish(ctx, &benchpb.State{Text: text})
	if err != nil {
		return 0, err
	}
	seen := c.listeners.await(text)
	for i, watch := range c.watches.all {
		for {
			state, err := watch.Recv()
			if err != nil {
				return seen, fmt.Errorf("watch %d: %w", i, err)
			}
			if state.GetText() == text {
				break
			}
		}
		seen++
	}
	return seen, nil
}
