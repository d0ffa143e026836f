// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/attack/internal/traffic"
)

// call is clients of all places until there were enough calls, or ctx ends.
func call(ctx context.Context, o Order, tally *traffic.Tally) Report {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cut := new(traffic.Sockets)
	var workers, beside sync.WaitGroup
	for name, addrs := range o.Call {
		l, err := traffic.NewLink(name, "")
		if err != nil {
			tally.Fault("%v", err)
			continue
		}
		for i, addr := range addrs {
			w := traffic.Worker{Tally: tally, Link: l, Name: name, Addr: addr, CutThere: i == 1, Light: true, Patience: o.Patience}
			if i == 1 {
				w.Cut = cut
			}
			for range o.Workers {
				workers.Go(func() {
					for ctx.Err() == nil && tally.Calls.Load() < o.Calls {
						w.Life(ctx)
					}
				})
			}
		}
	}
	var strange atomic.Int64
	for _, addr := range o.Strange {
		beside.Go(func() { visit(ctx, addr, &strange) })
	}
	beside.Go(func() { cut.Run(ctx) })
	workers.Wait()
	cancel()
	beside.Wait()
	return Report{
		Calls: tally.Calls.Load(), Failed: tally.Failed.Load(), Streams: tally.Streams.Load(),
		Cuts: cut.Cuts.Load(), Strange: strange.Load(), Faults: tally.Faults(),
	}
}

// visit calls a server that answers what it likes, and does not care what comes of it.
func visit(ctx context.Context, addr string, calls *atomic.Int64) {
	l, err := traffic.NewLink(traffic.Plain, "")
	if err != nil {
		return
	}
	var unheard traffic.Tally
	for ctx.Err() == nil {
		w := traffic.Worker{Tally: &unheard, Link: l, Name: "strange", Addr: addr, Light: true, Hasty: true}
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		w.Life(short)
		cancel()
		calls.Store(unheard.Calls.Load())
		traffic.Pause(ctx, 20*time.Millisecond)
	}
}
