// SPDX-License-Identifier: Apache-2.0

// Package peer makes a worker of another implementation that is written in Go: it obeys the
// orders that package worker obeys, as far as the rows of `bench peers` need them, with the
// same loads, the same service and the same measuring. Only what carries the calls is the
// implementation's.
package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"time"

	"google.golang.org/grpc/benchmark/benchpb"
	"google.golang.org/grpc/benchmark/internal/calls"
	"google.golang.org/grpc/benchmark/internal/control"
	"google.golang.org/grpc/benchmark/internal/load"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/ownheap"
	"google.golang.org/grpc/benchmark/internal/sample"
	"google.golang.org/grpc/benchmark/internal/service"
)

// Implementation carries calls.
type Implementation struct {
	// Serve has b answer on l until the process ends, and returns when that has begun. Under
	// TLS the order has the certificate.
	Serve func(l net.Listener, order ops.Serve, b *service.Bench) error
	// Dial returns a client that has a connection to addr of its own; it may connect with the
	// first call.
	Dial func(addr string, order ops.Open) (Client, error)
}

// Main is the main function of a worker.
func Main(i Implementation) {
	// An interrupt ends the program that started this one, and so the input.
	signal.Ignore(os.Interrupt)
	err := ownheap.Hold()
	if err == nil {
		err = Run(context.Background(), i, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

// Run obeys orders from in until it ends.
func Run(ctx context.Context, i Implementation, in io.Reader, out io.Writer) error {
	w := &worker{carrier: i, bench: service.New()}
	return control.Worker{
		ops.OpServe:    control.Handle(w.serve),
		ops.OpOpen:     control.Handle(w.open),
		ops.OpCallAll:  control.Handle(w.callAll),
		ops.OpSettle:   control.Handle(w.settle),
		ops.OpResident: control.Handle(w.resident),
		ops.OpCounters: control.Handle(w.counters),
		ops.OpLoad:     control.Handle(w.load),
		ops.OpWindow:   control.Handle(w.window),
	}.Run(ctx, in, out)
}

// worker is what one process holds.
type worker struct {
	carrier Implementation
	bench   *service.Bench
	clients []benchpb.BenchClient
	running *load.Run
}

func (w *worker) serve(_ context.Context, order ops.Serve, _ control.Progress) (ops.Served, error) {
	if order.Network != ops.TCP || order.Protocol != ops.GRPC || order.Delay != 0 {
		return ops.Served{}, fmt.Errorf("%w: gRPC over TCP alone is measured beside others", errors.ErrUnsupported)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return ops.Served{}, err
	}
	served := ops.Served{Targets: []string{l.Addr().String()}, RootPEM: order.Cert}
	return served, w.carrier.Serve(l, order, w.bench)
}

func (w *worker) open(ctx context.Context, order ops.Open, progress control.Progress) (ops.Opened, error) {
	start, first := time.Now(), len(w.clients)
	w.clients = append(w.clients, make([]benchpb.BenchClient, order.Connections)...)
	err := calls.Each(opening, order.Connections, progress, func(i int) error {
		client, err := w.carrier.Dial(order.Targets[i%len(order.Targets)], order)
		if err != nil {
			return err
		}
		w.clients[first+i] = generated{client}
		for range order.Calls {
			if err := calls.Echo(ctx, w.clients[first+i], order.MessageSize); err != nil {
				return fmt.Errorf("connection %d: %w", first+i, err)
			}
		}
		return nil
	})
	return ops.Opened{Connections: len(w.clients), Took: time.Since(start)}, err
}

// opening is how many connections are made at the same time: few enough for the queue of a
// listener.
const opening = 16

func (w *worker) callAll(ctx context.Context, order ops.CallAll, progress control.Progress) (ops.Answered, error) {
	return calls.All(ctx, w.clients, order.Callers, progress)
}

func (w *worker) settle(context.Context, ops.Nothing, control.Progress) (sample.Memory, error) {
	return sample.Settled(), nil
}

func (w *worker) resident(context.Context, ops.Nothing, control.Progress) (sample.Memory, error) {
	return sample.Resident(), nil
}

func (w *worker) counters(context.Context, ops.Nothing, control.Progress) (sample.Counters, error) {
	return sample.Count(w.bench.Served()), nil
}

func (w *worker) load(ctx context.Context, order ops.Load, _ control.Progress) (ops.Nothing, error) {
	run, err := load.Start(ctx, load.Targets{Clients: w.clients}, order)
	w.running = run
	return ops.Nothing{}, err
}

func (w *worker) window(ctx context.Context, order ops.Window, _ control.Progress) (ops.Measured, error) {
	if w.running == nil {
		return ops.Measured{}, errors.New("no load began")
	}
	defer func() { w.running = nil }()
	return w.running.Window(ctx, order.Duration)
}
