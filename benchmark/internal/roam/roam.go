// SPDX-License-Identifier: Apache-2.0

// Package roam is a client whose network goes away and comes back: it counts what the channel
// does until a call succeeds again.
package roam

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/benchmark/benchpb"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

const (
	// patience is how long the first call may take.
	patience = 20 * time.Second
	// deadline is that of each later call.
	deadline = time.Second
	// between is how long is waited after a call.
	between = 100 * time.Millisecond
	// lookup is how long the resolver takes to answer.
	lookup = 20 * time.Millisecond
)

// Client is a channel, and what was counted of it.
type Client struct {
	conn    *grpc.ClientConn
	client  benchpb.BenchClient
	names   *manual.Resolver
	address atomic.Value // string: what the resolver answers
	dials   atomic.Int32
	lookups atomic.Int32
}

// Start connects, and calls once.
func Start(ctx context.Context, args ops.Roam) (*Client, error) {
	c := &Client{names: manual.NewBuilderWithScheme("roam")}
	c.address.Store(args.Target)
	c.names.InitialState(c.state())
	c.names.ResolveNowCallback = func(resolver.ResolveNowOptions) {
		c.lookups.Add(1)
		time.AfterFunc(lookup, func() { c.names.UpdateState(c.state()) })
	}
	opts := []grpc.DialOption{
		grpc.WithResolvers(c.names),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(c.dial),
	}
	if args.Keepalive {
		opts = append(opts, grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 5 * time.Second}))
	}
	var err error
	if c.conn, err = grpc.NewClient("roam:///server", opts...); err != nil {
		return nil, err
	}
	c.client = benchpb.NewBenchClient(c.conn)
	if err := c.call(ctx, patience); err != nil {
		return nil, err
	}
	c.dials.Store(0)
	c.lookups.Store(0)
	return c, nil
}

func (c *Client) state() resolver.State {
	return resolver.State{Addresses: []resolver.Address{{Addr: c.address.Load().(string)}}}
}

func (c *Client) dial(ctx context.Context, address string) (net.Conn, error) {
	c.dials.Add(1)
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

func (c *Client) call(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	_, err := c.client.Echo(ctx, &benchpb.Message{}, grpc.WaitForReady(true))
	return err
}

// Recover calls until a call succeeds after one has failed.
func (c *Client) Recover(ctx context.Context, args ops.Recover) (ops.Recovered, error) {
	ctx, cancel := context.WithTimeout(ctx, args.Within)
	defer cancel()
	if args.Then != "" {
		change := time.AfterFunc(args.After, func() { c.address.Store(args.Then) })
		defer change.Stop()
	}
	var r ops.Recovered
	for r.At == 0 && ctx.Err() == nil {
		switch err := c.call(ctx, deadline); {
		case err != nil:
			r.Failed++
		case r.Failed > 0:
			r.At = time.Now().UnixNano()
			continue
		}
		time.Sleep(between)
	}
	r.Dials, r.Lookups = int(c.dials.Load()), int(c.lookups.Load())
	return r, nil
}

// Close closes the channel.
func (c *Client) Close() error { return c.conn.Close() }
