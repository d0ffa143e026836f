// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/benchmark/internal/idle"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/sample"
	"google.golang.org/grpc/benchmark/internal/workers"
)

// runPeers measures this module beside every other implementation that the machine can build,
// each with a client and a server of its own, in turn.
func runPeers(ctx context.Context, args []string) error {
	o, err := parsePeers(args)
	if err != nil {
		return err
	}
	steps, err := numbers(o.steps)
	if err != nil {
		return err
	}
	rows, err := choosePeerRows(o.rows)
	if err != nil {
		return err
	}
	ours, err := workers.Build(ctx, workers.Ours)
	if err != nil {
		return err
	}
	p := &peersRun{
		options: o,
		steps:   steps,
		rows:    rows,
		ours:    ours,
		peersOutcome: peersOutcome{
			Machine: thisMachine(time.Now()), Pairs: o.pairs, Seconds: o.seconds, Skipped: map[string]string{},
		},
	}
	impls, err := p.build(ctx)
	if err != nil {
		return err
	}
	others := sample.Others()
	if err := p.measureRates(ctx, impls); err != nil {
		return err
	}
	if err := p.measureIdle(ctx, impls); err != nil {
		return err
	}
	p.Others = others()
	p.print(os.Stdout)
	return p.save(os.Stdout)
}

// peersRun is a run that measures.
type peersRun struct {
	options peersOptions
	steps   []int
	rows    []row
	ours    workers.Impl
	peersOutcome
}

// build builds the peers that were asked for, and notes which can't be.
func (p *peersRun) build(ctx context.Context) ([]workers.Impl, error) {
	var impls []workers.Impl
	for _, name := range strings.Split(p.options.peers, ",") {
		peer, ok := workers.PeerNamed(name)
		if !ok && name != workers.Published {
			return nil, fmt.Errorf("there is no peer %q; there are %s", name, strings.Join(peerNames(), ", "))
		}
		if missing := peer.Missing(); missing != "" {
			p.skip(name, "this machine has no "+missing)
			continue
		}
		fmt.Printf("building %s\n", name)
		impl, err := workers.Build(ctx, name)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			p.skip(name, err.Error())
		default:
			impls = append(impls, impl)
		}
	}
	return impls, nil
}

func (p *peersRun) skip(name, why string) {
	if before := p.Skipped[name]; before != "" {
		why = before + "; " + why
	}
	p.Skipped[name] = why
	fmt.Printf("%s is skipped: %s\n", name, why)
}

// measureRates measures this module and each peer in pairs, one peer after the other.
func (p *peersRun) measureRates(ctx context.Context, impls []workers.Impl) error {
	if len(p.rows) == 0 {
		return nil
	}
	for _, impl := range impls {
		beside, err := p.measureBeside(ctx, impl)
		if err != nil {
			return err
		}
		p.Beside = append(p.Beside, beside)
		fmt.Println()
	}
	return nil
}

// measureBeside measures this module and a peer. A row in which either fails is left out.
func (p *peersRun) measureBeside(ctx context.Context, impl workers.Impl) (outcome, error) {
	both := []workers.Impl{p.ours, impl}
	c := &campaign{options: p.options.rates(), impls: both, outcome: newOutcome(p.options.rates(), both)}
	for left := rowsOf(impl.Name, p.rows); len(left) > 0; {
		c.rows = left
		before := len(c.Results)
		err := c.run(ctx)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return outcome{}, ctx.Err()
		}
		p.skip(impl.Name, err.Error())
		left = left[len(c.Results)-before+1:]
	}
	return c.outcome, nil
}

// rowsOf leaves out what a peer can't do.
func rowsOf(name string, rows []row) []row {
	peer, _ := workers.PeerNamed(name)
	return slices.DeleteFunc(slices.Clone(rows), func(r row) bool {
		return peer.NoTLS && r.link.Security == ops.TLS
	})
}

// measureIdle measures what an idle connection of each costs.
func (p *peersRun) measureIdle(ctx context.Context, impls []workers.Impl) error {
	if p.options.idle == "" {
		return nil
	}
	const message = 128
	for _, over := range strings.Split(p.options.idle, ",") {
		t := idleTable{Over: over, Message: message}
		for _, impl := range append([]workers.Impl{p.ours}, impls...) {
			if peer, _ := workers.PeerNamed(impl.Name); peer.NoTLS && over == ops.TLS {
				continue
			}
			result, err := idle.Measure(ctx, impl, idle.Params{
				Link: linkOf(over), Steps: p.steps, MessageSize: message, Linger: p.options.linger,
			}, idle.Terminal(os.Stdout))
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				p.skip(impl.Name, fmt.Sprintf("idle over %s: %v", over, err))
				continue
			}
			t.Results = append(t.Results, result)
		}
		p.Idle = append(p.Idle, t)
	}
	return nil
}
