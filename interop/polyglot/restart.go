// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os/exec"
	"time"

	"google.golang.org/grpc/interop/internal/programs"
)

const (
	// loadTime is how long a load lasts, during which the server is started anew so often.
	loadTime     = 7 * time.Second
	restartEvery = 2 * time.Second
	restarts     = 3
)

// restartUnderTheirLoad has the peer call a server of ours while that is started anew.
func restartUnderTheirLoad(ctx context.Context, w *workshop, l leg) row {
	return w.compareRestarts(ctx, l, func(p programs.Programs, t target) restarted {
		return restarted{
			server: func() *exec.Cmd { return w.ourServer(ctx, p.Server, t) },
			load:   func() (outcomes, error) { return l.peer.load(ctx, w, t, loadTime.Seconds()) },
		}
	})
}

// restartUnderOurLoad has a client of ours call the peer's server while that is started anew.
func restartUnderOurLoad(ctx context.Context, w *workshop, l leg) row {
	return w.compareRestarts(ctx, l, func(p programs.Programs, t target) restarted {
		return restarted{
			server: func() *exec.Cmd { return l.peer.server(ctx, w, t) },
			load:   func() (outcomes, error) { return w.ourLoad(ctx, p.Client, t, loadTime.Seconds()) },
		}
	})
}

// restarted is a server, and calls to it.
type restarted struct {
	server func() *exec.Cmd
	load   func() (outcomes, error)
}

// compareRestarts wants ours to show no kind of error that the published module does not show
// where servers end gracefully, and none but a lost connection's where they are killed.
func (w *workshop) compareRestarts(ctx context.Context, l leg, sides func(programs.Programs, target) restarted) row {
	out := row{name: l.name}
	for _, kill := range []bool{false, true} {
		r := result{name: "restart"}
		allowed := outcomes{}
		if kill {
			r.name, allowed = "kill", outcomes{unavailable: 1}
		}
		c, err := compare(allowed, func(p programs.Programs) (outcomes, error) {
			t, err := l.target(w)
			if err != nil {
				return nil, err
			}
			return sides(p, t).run(ctx, t, kill)
		}, [2]programs.Programs{w.ours, w.published})
		if err != nil {
			return out.failedWith(err)
		}
		r.ok, r.detail = len(c.guilty()) == 0, c.String()
		out.note += r.name + " " + r.detail + "; "
		out.results = append(out.results, r)
	}
	return out
}

// run makes the load while the server is started anew from time to time.
func (r restarted) run(ctx context.Context, t target, kill bool) (outcomes, error) {
	s, err := startServer(ctx, r.server(), t)
	if err != nil {
		return nil, err
	}
	type end struct {
		outcomes
		err error
	}
	ended := make(chan end, 1)
	go func() {
		o, err := r.load()
		ended <- end{o, err}
	}()
	tick := time.NewTicker(restartEvery)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case e := <-ended:
			return e.outcomes, errors.Join(e.err, s.stop())
		case <-tick.C:
		}
		if n >= restarts {
			continue
		}
		if kill {
			_ = s.cmd.Process.Kill()
		}
		if err := s.stop(); err != nil {
			return nil, err
		}
		if s, err = startServer(ctx, r.server(), t); err != nil {
			return nil, err
		}
	}
}
