// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/cpu"
	"google.golang.org/grpc/attack/internal/kinds"
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/process"
)

const (
	// rate is how many legitimate calls a second there are beside an attack.
	rate = 50
	// patience is how long each of them may take before it counts as lost, on a machine that does
	// nothing else: elsewhere it is as many times longer as all takes longer there.
	patience = 5 * time.Second
	// atLeast is how long an attack is watched, also when it is done at once, if it has as much time.
	atLeast = time.Second
	// afterwards is how long the legitimate calls are watched when it is over.
	afterwards = 300 * time.Millisecond
	// settling is how long a victim may take to let go of what it held.
	settling = 2 * time.Second
	// ceiling is how much memory a victim may take before it is killed.
	ceiling = 6 << 30
)

// scene is one attack on one victim.
type scene struct {
	kind    kinds.Kind
	victim  *process.Process
	beside  *process.Process // the other end of the legitimate calls
	caller  *process.Process // which of the two makes them
	call    orders.Call
	lis     net.Listener // where a client that is attacked comes
	a       *attacker.Attacker
	end     context.CancelFunc
	before  orders.Sample
	outcome outcome
}

// start starts both processes.
func (s *scene) start(ctx context.Context, victim, beside string) error {
	spec := process.Spec{Path: victim, Cloud: s.kind.Over(orders.ALTS)}
	if s.kind.OnClient() {
		lis, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		s.lis = lis
		for _, e := range s.kind.Env {
			spec.Env = append(spec.Env, strings.ReplaceAll(e, orders.Here, lis.Addr().String()))
		}
	} else {
		spec.Env = s.kind.Env
	}
	var err error
	if s.victim, err = process.Start(ctx, spec); err != nil {
		return err
	}
	spec.Path, spec.Env = beside, nil
	s.beside, err = process.Start(ctx, spec)
	return err
}

// close ends what was started.
func (s *scene) close() {
	if s.a != nil {
		s.a.Close()
	}
	if s.end != nil {
		s.end()
	}
	for _, p := range []*process.Process{s.beside, s.victim} {
		if p != nil {
			_ = p.Close() // how it ends was looked at
		}
	}
	if s.lis != nil {
		s.lis.Close()
	}
}

// prepare starts the legitimate calls, and what the attack needs.
func (s *scene) prepare(ctx context.Context) error {
	server := s.victim
	s.caller = s.beside
	if s.kind.OnClient() {
		server, s.caller = s.beside, s.victim
	}
	served, err := process.Ask[orders.Served](server, orders.OpServe, s.kind.Serve)
	if err != nil {
		return err
	}
	slowness := cpu.Slowness()
	s.call = orders.Call{
		Addr: served.Addr, Security: s.kind.Serve.Security, Handshaker: s.kind.Serve.Handshaker,
		Rate: rate, Patience: time.Duration(slowness * float64(patience)),
	}
	if _, err := process.Ask[any](s.caller, orders.OpCall, s.call); err != nil {
		return err
	}
	if s.before, err = process.Ask[orders.Sample](s.victim, orders.OpSample, nil); err != nil {
		return err
	}
	if _, err := process.Ask[any](s.caller, orders.OpReset, nil); err != nil {
		return err
	}
	ctx, s.end = context.WithTimeout(ctx, s.kind.Time)
	if !s.kind.OnClient() {
		s.a = attacker.Against(ctx, s.call)
		s.a.Slowness = slowness
		return nil
	}
	s.a = attacker.Awaiting(ctx, s.lis, *s.kind.Work)
	s.a.Slowness = slowness
	work := *s.kind.Work
	work.Addr = s.lis.Addr().String()
	_, err = process.Ask[any](s.victim, orders.OpWork, work)
	return err
}

// act attacks, and sees to it that the machine survives.
func (s *scene) act() error {
	began := time.Now()
	done := make(chan error, 1)
	go func() { done <- s.kind.Attack(s.a) }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			if wait := min(atLeast, s.kind.Time) - time.Since(began); err == nil && wait > 0 {
				time.Sleep(wait)
			}
			return err
		case <-tick.C:
			if now, _ := s.victim.Resident(); now > ceiling {
				s.victim.Kill()
			}
		}
	}
}

// look measures while the attack is held, and when it is over.
func (s *scene) look() {
	o := &s.outcome
	o.Alive = true
	held, err := process.Ask[orders.Sample](s.victim, orders.OpSample, nil)
	s.fails(err)
	time.Sleep(afterwards)
	tally, err := process.Ask[orders.Tally](s.caller, orders.OpTally, nil)
	s.fails(err)
	_, o.RSS = s.victim.Resident()
	spent := s.a.Spent()
	s.a.Close()
	if o.Alive {
		s.closed()
	}
	o.Sent, o.Streams, o.Conns, o.GoAway = spent.Bytes, spent.Streams, spent.Conns, spent.GoAway
	o.Heap = max(held.Heap-s.before.Heap, 0)
	o.Go, o.CPU = int64(held.MaxGo), held.CPU-s.before.Then
	o.Calls, o.Lost = int64(tally.Calls), int64(tally.Failed)+spent.Lost
	o.P99 = max(tally.P99, spent.Slowest)
	for _, text := range []string{tally.Error, spent.Error} {
		if o.Error == "" {
			o.Error = text
		}
	}
}

// closed measures what is left when all connections of the attack are closed. They end a moment
// later than the attacker closes them: what the victim holds is looked at until there is no less.
func (s *scene) closed() {
	_, err := process.Ask[any](s.victim, orders.OpStop, nil)
	s.fails(err)
	_, err = process.Ask[any](s.caller, orders.OpFresh, s.call)
	s.fails(err)
	for end := time.Now().Add(settling); ; time.Sleep(100 * time.Millisecond) {
		left, err := process.Ask[orders.Sample](s.victim, orders.OpSample, nil)
		s.fails(err)
		s.outcome.Left, s.outcome.LeftGo = max(left.Heap-s.before.Heap, 0), int64(left.Goroutines-s.before.Goroutines)
		if err != nil || s.outcome.Left < leftBase || time.Now().After(end) {
			return
		}
	}
}

// fails notes that the victim is no more, or does not answer.
func (s *scene) fails(err error) {
	if err == nil || !s.outcome.Alive {
		return
	}
	s.outcome.Alive = false
	text, _, _ := strings.Cut(s.victim.Printed(), "\n\n")
	s.outcome.Error = errors.Join(err, errors.New(text)).Error()
}
