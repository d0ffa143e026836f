// SPDX-License-Identifier: Apache-2.0

// Package soak does to a server what a bad day does: clients come and go, call, fall
// silent, are cut off in the middle of a frame; and some that are no clients at all.
package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/benchmark/benchpb"
	"google.golang.org/grpc/benchmark/internal/cutter"
	"google.golang.org/grpc/benchmark/internal/link"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/service"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// patience is how long a call may take: on a machine that is busy, but not stuck.
const patience = 20 * time.Second

type soak struct {
	steady, shaky *link.Dialer
	target        string // without a protocol, "" under TLS or over unix sockets
	calls, failed atomic.Uint64
	channels      atomic.Uint64

	mu  sync.Mutex
	odd []string // the first errors that nothing accounts for
	all int      // how many there were
}

// Run soaks the server for a time, and has closed everything when it returns.
func Run(ctx context.Context, l ops.Link, served ops.Served, args ops.Soak) (ops.Soaked, error) {
	steady, err := link.NewDialer(l, served)
	if err != nil {
		return ops.Soaked{}, err
	}
	s := &soak{steady: steady, shaky: steady}
	cuts := func() int64 { return 0 }
	if l.Network == ops.TCP {
		c, err := cutter.Listen(served.Targets[0])
		if err != nil {
			return ops.Soaked{}, err
		}
		defer c.Close()
		cuts = c.Cuts
		cut := served
		cut.Targets = []string{c.Addr()}
		s.shaky, err = link.NewDialer(l, cut)
		if err != nil {
			return ops.Soaked{}, err
		}
		s.target = served.Targets[0]
	}
	end := time.Now().Add(args.Duration)
	var wg sync.WaitGroup
	for range max(args.Workers, 1) {
		wg.Go(func() {
			for time.Now().Before(end) && ctx.Err() == nil {
				s.life(ctx)
			}
		})
	}
	wg.Wait()
	return ops.Soaked{
		Calls: s.calls.Load(), Failed: s.failed.Load(), Channels: s.channels.Load(),
		Cuts: cuts(), Odd: s.all, OddSamples: s.odd,
	}, ctx.Err()
}

// life is that of one client.
func (s *soak) life(ctx context.Context) {
	switch n := rand.N(10); {
	case n == 0 && s.target != "":
		if err := stranger(s.target); err != nil {
			s.strange(err)
		}
	case n < 5:
		s.channel(ctx, s.shaky, true)
	default:
		s.channel(ctx, s.steady, false)
	}
}

// channel opens a channel, calls and falls silent a few times, and closes it. A channel
// that is cut off may fail calls with Unavailable, but has to connect anew; others may
// not fail at all.
func (s *soak) channel(ctx context.Context, d *link.Dialer, shaky bool) {
	cc, err := d.Channel(rand.N(1 << 20))
	if err != nil {
		s.strange(err)
		return
	}
	defer cc.Close()
	s.channels.Add(1)
	client := benchpb.NewBenchClient(cc)
	for range 1 + rand.N(3) {
		var wg sync.WaitGroup
		for range 1 + rand.N(4) {
			wg.Go(func() { s.judge(s.call(ctx, client, false), shaky) })
		}
		if rand.N(3) == 0 {
			wg.Go(func() { s.judge(s.watch(ctx, client), shaky) })
		}
		wg.Wait()
		pause(ctx, rand.N(700*time.Millisecond))
	}
	if shaky {
		s.recover(ctx, client)
	}
}

// recover calls until an answer comes: a channel has to find its way back.
func (s *soak) recover(ctx context.Context, client benchpb.BenchClient) {
	var err error
	for range 20 {
		if err = s.call(ctx, client, true); err == nil || status.Code(err) == codes.DeadlineExceeded {
			break
		}
	}
	if err != nil && ctx.Err() == nil {
		s.strange(fmt.Errorf("it does not recover: %w", err))
	}
}

func (s *soak) call(ctx context.Context, client benchpb.BenchClient, wait bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	size := rand.N(4 << 10)
	switch rand.N(20) {
	case 0:
		size = rand.N(1 << 20)
	case 1, 2, 3:
		size = rand.N(64 << 10)
	}
	answer, err := client.Echo(ctx, &benchpb.Message{
		Payload: service.Payload(rand.N(size + 1)), AnswerSize: uint32(size),
	}, grpc.WaitForReady(wait))
	if err == nil && len(answer.GetPayload()) != size {
		err = fmt.Errorf("%d bytes came back, want %d", len(answer.GetPayload()), size)
	}
	return err
}

// watch opens a stream, leaves it open for a while and cancels it.
func (s *soak) watch(ctx context.Context, client benchpb.BenchClient) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stream, err := client.Watch(ctx, &benchpb.WatchRequest{})
	if err != nil {
		return fmt.Errorf("opening a stream: %w", err)
	}
	if _, err := stream.Recv(); err != nil {
		return fmt.Errorf("receiving on it: %w", err)
	}
	pause(ctx, rand.N(700*time.Millisecond))
	return nil
}

// judge counts a call, and keeps an error that nothing accounts for.
func (s *soak) judge(err error, shaky bool) {
	s.calls.Add(1)
	if err == nil {
		return
	}
	s.failed.Add(1)
	if !shaky || status.Code(err) != codes.Unavailable {
		s.strange(err)
	}
}

func (s *soak) strange(err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all++
	if len(s.odd) < 10 {
		s.odd = append(s.odd, err.Error())
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
