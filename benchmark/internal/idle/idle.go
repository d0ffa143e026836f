// SPDX-License-Identifier: Apache-2.0

// Package idle measures what connections cost while nothing happens on them.
package idle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/benchmark/internal/control"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/sample"
	"google.golang.org/grpc/benchmark/internal/workers"
)

// warm is how many connections exist before the first sample, so that what a process
// sets up once is not counted as a connection's.
const warm = 50

// perAddress is how many connections one destination address may carry: its ports are
// about 28,000.
const perAddress = 10_000

// Params say what to measure.
type Params struct {
	Link ops.Link
	// Steps are numbers of connections, rising; memory is measured at each.
	Steps []int
	// Calls before idling, and how large their messages are each way. Calls 0 means 1.
	Calls       int
	MessageSize int
	// Watch leaves a stream open on each connection, or as many as Streams says, if that is
	// not 0: then a step is what one of the streams costs.
	Watch   bool
	Streams int
	// Stall, when it is not 0, lets the server send messages of that size on a stream of
	// each connection that nobody reads.
	Stall int
	// Linger is how long connections are left alone before a sample.
	Linger time.Duration
	// Quiet, when it is not 0, is how long the processor time of idleness is measured.
	Quiet time.Duration
	// OneByOne calls again on one connection after the other, so that the latency is that
	// of a wake-up; otherwise on 16 at a time.
	OneByOne bool
}

// Step is what each of Connections costs.
type Step struct {
	Connections    int
	Server, Client sample.Memory // for one connection
}

// Result is what was measured of one implementation.
type Result struct {
	Impl  string
	Steps []Step
	// Slope is the cost of one more connection between the first and the last step; with
	// one step, that step's.
	Slope Step
	// Again is what every connection answered after that, and After what one costs when
	// all are idle once more.
	Again ops.Answered
	After Step
	// ServerCPU and ClientCPU are processor time used in Params.Quiet.
	ServerCPU, ClientCPU time.Duration
}

// Observer sees progress. The text says what is being done; total is 0 where that is not
// counted.
type Observer func(impl, text string, count, total int)

// Measure measures one implementation.
func Measure(ctx context.Context, impl workers.Impl, p Params, observe Observer) (_ Result, err error) {
	last := p.Steps[len(p.Steps)-1]
	pair, err := workers.StartPair(ctx, impl, ops.Serve{Link: p.Link, Addresses: 1 + last/perAddress})
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, pair.Close()) }()
	m := &measurement{pair: pair, params: p, result: Result{Impl: impl.Name}}
	m.observe = func(text string) control.Progress {
		observe(impl.Name, text, 0, 0)
		return func(count, total int) { observe(impl.Name, text, count, total) }
	}
	return m.result, m.run(ctx)
}

type measurement struct {
	pair    *workers.Pair
	params  Params
	observe func(text string) control.Progress
	result  Result

	before struct{ server, client sample.Memory }
	open   int // without the warm ones
}

func (m *measurement) run(ctx context.Context) error {
	if err := m.add(warm, 1, "warming up"); err != nil {
		return err
	}
	if err := m.callAll("warming up"); err != nil {
		return err
	}
	server, client, err := m.sample(ctx)
	if err != nil {
		return err
	}
	m.before.server, m.before.client = server, client
	for _, n := range m.params.Steps {
		if err := m.add(n-m.open, m.params.Streams, fmt.Sprintf("opening %d connections", n)); err != nil {
			return err
		}
		m.open = n
		step, err := m.step(ctx)
		if err != nil {
			return err
		}
		m.result.Steps = append(m.result.Steps, step)
	}
	m.result.Slope = slope(m.result.Steps)
	if err := m.quiet(ctx); err != nil {
		return err
	}
	if err := m.callAll("calling on every connection again"); err != nil {
		return err
	}
	m.result.After, err = m.step(ctx)
	return err
}

func (m *measurement) add(n, streams int, text string) error {
	_, err := m.pair.Open(ops.Open{
		Connections: n,
		Calls:       max(m.params.Calls, 1),
		MessageSize: m.params.MessageSize,
		Watch:       m.params.Watch,
		Streams:     streams,
		Stall:       m.params.Stall,
	}, m.observe(text))
	return err
}

func (m *measurement) callAll(text string) error {
	args := ops.CallAll{Callers: 16, Publish: m.params.Watch}
	if m.params.OneByOne {
		args.Callers = 1
	}
	answered, err := control.Call[ops.Answered](m.pair.Client, ops.OpCallAll, args, m.observe(text))
	if err != nil {
		return err
	}
	want, streams := m.open+warm, m.open*m.each()+warm
	if answered.Calls != want || m.params.Watch && answered.Events != streams {
		return fmt.Errorf("%d of %d connections answered, %d of %d streams", answered.Calls, want, answered.Events, streams)
	}
	m.result.Again = answered
	return nil
}

// step measures what each open connection costs at present.
func (m *measurement) step(ctx context.Context) (Step, error) {
	server, client, err := m.sample(ctx)
	return Step{
		Connections: m.open,
		Server:      server.Minus(m.before.server, m.open*m.each()),
		Client:      client.Minus(m.before.client, m.open*m.each()),
	}, err
}

// each is among how many what a connection costs is shared out.
func (m *measurement) each() int { return max(m.params.Streams, 1) }

func (m *measurement) sample(ctx context.Context) (server, client sample.Memory, err error) {
	m.observe("idle")
	if err := wait(ctx, m.params.Linger); err != nil {
		return server, client, err
	}
	return workers.Both[sample.Memory](m.pair, ops.OpSettle, ops.Nothing{})
}

// quiet measures what processor time idleness takes.
func (m *measurement) quiet(ctx context.Context) error {
	if m.params.Quiet == 0 {
		return nil
	}
	m.observe(fmt.Sprintf("idle for %v", m.params.Quiet))
	server, client, err := workers.Both[sample.Counters](m.pair, ops.OpCounters, ops.Nothing{})
	if err != nil {
		return err
	}
	if err := wait(ctx, m.params.Quiet); err != nil {
		return err
	}
	server2, client2, err := workers.Both[sample.Counters](m.pair, ops.OpCounters, ops.Nothing{})
	m.result.ServerCPU, m.result.ClientCPU = server2.CPU-server.CPU, client2.CPU-client.CPU
	return err
}

// slope is the cost of one more connection.
func slope(steps []Step) Step {
	first, last := steps[0], steps[len(steps)-1]
	more := last.Connections - first.Connections
	if more <= 0 {
		return last
	}
	return Step{
		Connections: more,
		Server:      last.Server.Times(last.Connections).Minus(first.Server.Times(first.Connections), more),
		Client:      last.Client.Times(last.Connections).Minus(first.Client.Times(first.Connections), more),
	}
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
