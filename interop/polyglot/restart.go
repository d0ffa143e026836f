// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os/exec"
	"syscall"
	"time"

	"google.golang.org/grpc/interop/internal/programs"
)

const (
	// loadTime is how long a load lasts. In that time the server is restarted restarts times.
	loadTime     = 7 * time.Second
	restartEvery = 2 * time.Second
	restarts     = 3
)

// restartUnderTheirLoad makes the peer's client call our server while that server is restarted.
func restartUnderTheirLoad(ctx context.Context, w *workshop, l leg) row {
	return w.compareRestarts(l.name, func(p programs.Programs, kill bool) (outcomes, error) {
		t, err := l.target(w)
		if err != nil {
			return nil, err
		}
		return restarted{
			server: func() *exec.Cmd { return w.ourServer(ctx, p.Server, t) },
			load:   func() (outcomes, error) { return l.peer.load(ctx, w, t, loadTime.Seconds()) },
		}.run(ctx, t, kill)
	})
}

// restartUnderOurLoad makes our client call the peer's server while that server is restarted.
func restartUnderOurLoad(ctx context.Context, w *workshop, l leg) row {
	return w.compareRestarts(l.name, func(p programs.Programs, kill bool) (outcomes, error) {
		t, err := l.target(w)
		if err != nil {
			return nil, err
		}
		return restarted{
			server: func() *exec.Cmd { return l.peer.server(ctx, w, t) },
			load:   func() (outcomes, error) { return w.ourLoad(ctx, p.Client, t, loadTime.Seconds()) },
		}.run(ctx, t, kill)
	})
}

// restartBehindProxy makes our client call our server through the proxy while the server is
// restarted.
func (w *workshop) restartBehindProxy(ctx context.Context, p *proxy, l leg) row {
	return w.compareRestarts(l.name, func(m programs.Programs, kill bool) (outcomes, error) {
		g, err := w.passage(p, l)
		if err != nil {
			return nil, err
		}
		between, err := g.start(ctx)
		if err != nil {
			return nil, errors.Join(err, g.remove())
		}
		o, err := restarted{
			server: func() *exec.Cmd { return w.ourServer(ctx, m.Server, g.back) },
			load:   func() (outcomes, error) { return w.ourLoad(ctx, m.Client, g.front, loadTime.Seconds()) },
		}.run(ctx, g.back, kill)
		return o, errors.Join(err, between.stop(), g.remove())
	})
}

// restartOfProxy makes our client call our server through the proxy while the proxy is
// restarted.
func (w *workshop) restartOfProxy(ctx context.Context, p *proxy, l leg) row {
	return w.compareRestarts(l.name, func(m programs.Programs, kill bool) (outcomes, error) {
		g, err := w.passage(p, l)
		if err != nil {
			return nil, err
		}
		s, err := startServer(ctx, w.ourServer(ctx, m.Server, g.back), g.back)
		if err != nil {
			return nil, errors.Join(err, g.remove())
		}
		o, err := restarted{
			server: func() *exec.Cmd { return g.command(ctx, g.file()) },
			load:   func() (outcomes, error) { return w.ourLoad(ctx, m.Client, g.front, loadTime.Seconds()) },
			gentle: p.gentle,
		}.run(ctx, g.front, kill)
		return o, errors.Join(err, s.stop(), g.remove())
	})
}

// restarted has a server that is restarted, and the load that calls it meanwhile.
type restarted struct {
	server func() *exec.Cmd
	load   func() (outcomes, error)
	// gentle is the signal that makes the server end gracefully. If it is empty, the end of its
	// input does that, and the server is a single process, which SIGKILL can end.
	gentle string
}

// compareRestarts requires that ours shows no kind of error that the published module does not
// show. If servers are killed, the error of a lost connection is allowed in any case.
func (w *workshop) compareRestarts(name string, run func(p programs.Programs, kill bool) (outcomes, error)) row {
	out := row{name: name}
	for _, kill := range []bool{false, true} {
		r := result{name: "restart"}
		allowed := outcomes{}
		if kill {
			r.name, allowed = "kill", outcomes{unavailable: 1}
		}
		c, err := compare(allowed, func(p programs.Programs) (outcomes, error) { return run(p, kill) }, [2]programs.Programs{w.ours, w.published})
		if err != nil {
			return out.failedWith(err)
		}
		r.ok, r.detail = len(c.guilty()) == 0, c.String()
		out.note += r.name + " " + r.detail + "; "
		out.results = append(out.results, r)
	}
	return out
}

// run starts the server, which listens at t, and the load. It restarts the server several times
// while the load runs, and returns the load's outcomes.
func (r restarted) run(ctx context.Context, t target, kill bool) (outcomes, error) {
	s, err := r.start(ctx, t)
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
			r.kill(s)
		}
		if err := s.stop(); err != nil {
			return nil, err
		}
		if s, err = r.start(ctx, t); err != nil {
			return nil, err
		}
	}
}

func (r restarted) start(ctx context.Context, t target) (*process, error) {
	s, err := startServer(ctx, r.server(), t)
	if err == nil {
		s.gentle = r.gentle
	}
	return s, err
}

// kill ends s with all its connections. A server with a gentle signal may be several processes.
// SIGKILL would end only one of them, but SIGTERM makes all of them end at once.
func (r restarted) kill(s *process) {
	if r.gentle == "" {
		_ = s.cmd.Process.Kill()
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	s.gentle = ""
}
