// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/peer"
)

// waitForReady makes two RPCs on one channel while nothing listens. The wait-for-ready RPC
// must wait until the server listens, and the other one must fail.
func waitForReady(ctx context.Context, c *Client) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g := newGate(c.dial)
	quick := backoff.Config{BaseDelay: 5 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 50 * time.Millisecond}
	client, err := c.resolved(c.cfg.Addrs[:1], g.dial,
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: quick, MinConnectTimeout: 20 * time.Second}))
	if err != nil {
		return err
	}
	defer client.Close()

	waiting := make(chan error, 1)
	go func() {
		_, err := client.test.EmptyCall(ctx, &testpb.Empty{}, grpc.WaitForReady(true))
		waiting <- err
	}()
	// A channel is idle until its first RPC, so an attempt to connect shows that the RPC has
	// begun.
	select {
	case <-g.refused:
	case err := <-waiting:
		return fmt.Errorf("ended before an attempt to connect: %w", orEarly(err))
	}
	_, err = client.test.EmptyCall(ctx, &testpb.Empty{}, grpc.WaitForReady(false))
	if err := checkCode(err, codes.Unavailable); err != nil {
		return fmt.Errorf("fail-fast, nothing listens: %w", err)
	}
	select {
	case err := <-waiting:
		return fmt.Errorf("wait-for-ready, nothing listens: %w", orEarly(err))
	default:
	}
	g.open()
	if err := <-waiting; err != nil {
		return fmt.Errorf("wait-for-ready, server listens: %w", err)
	}
	if _, err := client.test.EmptyCall(ctx, &testpb.Empty{}); err != nil {
		return fmt.Errorf("fail-fast, server listens: %w", err)
	}
	return nil
}

// orEarly returns err. If err is nil, it returns an error that says that the RPC must not have
// succeeded.
func orEarly(err error) error {
	if err == nil {
		return errors.New("success without a server")
	}
	return err
}

// gate refuses connections to a server until it is opened, as if the server did not listen
// yet. The server listens from the start, so no port has to be reserved for it.
type gate struct {
	connect dialFunc
	refused chan struct{} // closed at the first refusal
	once    sync.Once
	opened  chan struct{}
}

func newGate(connect dialFunc) *gate {
	return &gate{connect: connect, refused: make(chan struct{}), opened: make(chan struct{})}
}

func (g *gate) open() { close(g.opened) }

func (g *gate) dial(ctx context.Context, addr string) (net.Conn, error) {
	select {
	case <-g.opened:
		return g.connect(ctx, addr)
	default:
		g.once.Do(func() { close(g.refused) })
		return nil, &net.OpError{Op: "dial", Net: "gate", Err: syscall.ECONNREFUSED}
	}
}

const (
	roundRobinConfig  = `{"loadBalancingConfig":[{"round_robin":{}}]}`
	roundRobinServers = 3
	// roundRobinRun is how many calls in a row must go round the servers. That does not
	// happen by chance.
	roundRobinRun = 10 * roundRobinServers
	// roundRobinLimit bounds the calls until then. The first calls need not go round,
	// because the policy starts again whenever a connection becomes ready.
	roundRobinLimit = 1000
)

func roundRobin(ctx context.Context, c *Client) error {
	if len(c.cfg.Addrs) < roundRobinServers {
		return ErrSkipped
	}
	client, err := c.resolved(c.cfg.Addrs[:roundRobinServers], c.dial, grpc.WithDefaultServiceConfig(roundRobinConfig))
	if err != nil {
		return err
	}
	defer client.Close()

	for seen := make(map[string]bool); len(seen) < roundRobinServers; {
		name, err := client.askName(ctx)
		if err != nil {
			return fmt.Errorf("%d of %d servers seen: %w", len(seen), roundRobinServers, err)
		}
		seen[name] = true
	}
	var order []string
	for range roundRobinLimit {
		name, err := client.askName(ctx)
		if err != nil {
			return err
		}
		order = append(order, name)
		if goesRound(order) {
			return nil
		}
	}
	return fmt.Errorf("in %d calls no %d in a row went round; the last: %q", roundRobinLimit, roundRobinRun, order[len(order)-roundRobinRun:])
}

// askName makes a call and returns the address of the server that answered.
func (c *Client) askName(ctx context.Context) (string, error) {
	var p peer.Peer
	if _, err := c.test.EmptyCall(ctx, &testpb.Empty{}, grpc.Peer(&p), grpc.WaitForReady(true)); err != nil {
		return "", err
	}
	if p.Addr == nil {
		return "", errors.New("no peer for a call that was answered")
	}
	return p.Addr.String(), nil
}

// goesRound reports whether the last roundRobinRun calls visited all servers, repeatedly and
// always in the same order.
func goesRound(order []string) bool {
	if len(order) < roundRobinRun {
		return false
	}
	last := order[len(order)-roundRobinRun:]
	first := slices.Clone(last[:roundRobinServers])
	for i, name := range last {
		if name != first[i%roundRobinServers] {
			return false
		}
	}
	slices.Sort(first)
	return len(slices.Compact(first)) == roundRobinServers
}
