// SPDX-License-Identifier: Apache-2.0

// Package worker is a process that is measured: a server or a client, as the program that
// started it orders.
package worker

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc/benchmark/internal/control"
	"google.golang.org/grpc/benchmark/internal/flow"
	"google.golang.org/grpc/benchmark/internal/link"
	"google.golang.org/grpc/benchmark/internal/load"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/roam"
	"google.golang.org/grpc/benchmark/internal/sample"
	"google.golang.org/grpc/benchmark/internal/service"
	"google.golang.org/grpc/benchmark/internal/soak"
)

// Worker is what one process holds.
type Worker struct {
	bench    *service.Bench
	cleanup  func() // of a server
	channels *channels
	running  *load.Run
	roaming  *roam.Client
	profiles profiles
}

// Run obeys orders from in until it ends.
func Run(ctx context.Context, in io.Reader, out io.Writer) error {
	w := &Worker{bench: service.New(), cleanup: func() {}}
	defer func() { w.cleanup() }()
	return control.Worker{
		ops.OpServe:    control.Handle(w.serve),
		ops.OpOpen:     control.Handle(w.open),
		ops.OpCallAll:  control.Handle(w.callAll),
		ops.OpPublish:  control.Handle(w.publish),
		ops.OpSettle:   control.Handle(w.settle),
		ops.OpResident: control.Handle(w.resident),
		ops.OpCounters: control.Handle(w.counters),
		ops.OpLoad:     control.Handle(w.load),
		ops.OpWindow:   control.Handle(w.window),
		ops.OpSoak:     control.Handle(w.soak),
		ops.OpFlow:     control.Handle(w.flow),
		ops.OpTrack:    control.Handle(w.track),
		ops.OpRoam:     control.Handle(w.roam),
		ops.OpRecover:  control.Handle(w.recover),
		ops.OpProfile:  control.Handle(w.profiles.begin),
		ops.OpFinish:   control.Handle(w.profiles.finish),
	}.Run(ctx, in, out)
}

func (w *Worker) serve(_ context.Context, args ops.Serve, _ control.Progress) (ops.Served, error) {
	served, cleanup, err := link.Listen(args, w.bench)
	if err == nil {
		w.cleanup = cleanup
	}
	return served, err
}

func (w *Worker) open(ctx context.Context, args ops.Open, progress control.Progress) (ops.Opened, error) {
	if w.channels == nil {
		dialer, err := link.NewDialer(args.Link, args.Served)
		if err != nil {
			return ops.Opened{}, err
		}
		w.channels = &channels{dialer: dialer, protocol: args.Protocol}
		w.channels.listeners.init()
	}
	return w.channels.open(ctx, args, progress)
}

func (w *Worker) callAll(ctx context.Context, args ops.CallAll, progress control.Progress) (ops.Answered, error) {
	if w.channels == nil {
		return ops.Answered{}, errNotConnected
	}
	return w.channels.callAll(ctx, args, progress)
}

func (w *Worker) publish(ctx context.Context, args ops.Publish, _ control.Progress) (ops.Published, error) {
	if w.channels == nil {
		return ops.Published{}, errNotConnected
	}
	start := time.Now()
	text := start.String()
	text += strings.Repeat(".", max(args.Size-len(text), 0))
	events, err := w.channels.publish(ctx, text)
	return ops.Published{Events: events, Took: time.Since(start)}, err
}

func (w *Worker) settle(context.Context, ops.Nothing, control.Progress) (sample.Memory, error) {
	return sample.Settled(), nil
}

func (w *Worker) resident(context.Context, ops.Nothing, control.Progress) (sample.Memory, error) {
	return sample.Resident(), nil
}

func (w *Worker) counters(context.Context, ops.Nothing, control.Progress) (sample.Counters, error) {
	return sample.Count(w.bench.Served()), nil
}

func (w *Worker) load(ctx context.Context, args ops.Load, _ control.Progress) (ops.Nothing, error) {
	if w.channels == nil {
		return ops.Nothing{}, errNotConnected
	}
	run, err := load.Start(ctx, w.channels.targets(), args)
	w.running = run
	return ops.Nothing{}, err
}

func (w *Worker) window(ctx context.Context, args ops.Window, _ control.Progress) (ops.Measured, error) {
	if w.running == nil {
		return ops.Measured{}, errors.New("no load began")
	}
	defer func() { w.running = nil }()
	return w.running.Window(ctx, args.Duration)
}

func (w *Worker) flow(ctx context.Context, args ops.Flow, _ control.Progress) (ops.Flowed, error) {
	if w.channels == nil {
		return ops.Flowed{}, errNotConnected
	}
	return flow.Run(ctx, w.channels.targets(), args)
}

func (w *Worker) track(ctx context.Context, args ops.Track, _ control.Progress) (ops.Tracked, error) {
	return ops.Tracked{Points: flow.Track(ctx, args.For, w.bench.Served)}, nil
}

func (w *Worker) roam(ctx context.Context, args ops.Roam, _ control.Progress) (_ ops.Nothing, err error) {
	w.roaming, err = roam.Start(ctx, args)
	return ops.Nothing{}, err
}

func (w *Worker) recover(ctx context.Context, args ops.Recover, _ control.Progress) (ops.Recovered, error) {
	if w.roaming == nil {
		return ops.Recovered{}, errNotConnected
	}
	recovered, err := w.roaming.Recover(ctx, args)
	return recovered, errors.Join(err, w.roaming.Close())
}

func (w *Worker) soak(ctx context.Context, args ops.Soak, _ control.Progress) (ops.Soaked, error) {
	return soak.Run(ctx, args.Link, args.Served, args)
}

var errNotConnected = errors.New("no connections were opened")
