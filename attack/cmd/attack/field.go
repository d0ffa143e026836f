// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/cloud"
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
	// atLeast is how long an attack is watched, also when it is done at once.
	atLeast = time.Second
	// afterwards is how long the legitimate calls are watched when it is over.
	afterwards = 300 * time.Millisecond
	// ceiling is how much memory a victim may take before it is killed.
	ceiling = 6 << 30
)

// field is where attacks take place.
type field struct {
	ours, published string // paths of victims
	handshaker      string // address of the ALTS handshaker service, "" until it is needed
	stop            func() // the service
}

// close stops what was started.
func (f *field) close() {
	if f.stop != nil {
		f.stop()
	}
}

// ready sees to what a kind needs. An error says why it can't be carried out here.
func (f *field) ready(ctx context.Context, k *kinds.Kind) error {
	if !k.Over(orders.ALTS) {
		return nil
	}
	if err := cloud.Check(); err != nil {
		return err
	}
	if f.handshaker == "" {
		var err error
		if f.handshaker, f.stop, err = process.StartHandshaker(ctx); err != nil {
			return err
		}
	}
	if !k.OnClient() {
		k.Serve.Handshaker = f.handshaker
		return nil
	}
	w := *k.Work
	w.Handshaker = f.handshaker
	k.Work = &w
	return nil
}

func newField(ctx context.Context, ours string) (*field, error) {
	a, err := process.Build(ctx, ours)
	if err != nil {
		return nil, err
	}
	b, err := process.Build(ctx, process.Published)
	return &field{ours: a, published: b}, err
}

// again is how often a kind that does more harm than it may is carried out once more. It is in
// order if it is each time: a machine that does much else has attackers, victims or legitimate
// callers wait for seconds, and one of two victims may be spared for that.
const again = 2

// settle carries out a kind against both, in turn, and judges, more than once where it has to.
func (f *field) settle(ctx context.Context, k kinds.Kind, runs int) (row, error) {
	r, err := f.measure(ctx, k, runs)
	if err != nil || len(r.Faults) == 0 {
		return r, err
	}
	var better row
	for range again {
		if better, err = f.measure(ctx, k, runs); err != nil || len(better.Faults) > 0 {
			return better, err
		}
	}
	return better, nil
}

// measure carries out a kind against both, in turn, and judges.
func (f *field) measure(ctx context.Context, k kinds.Kind, runs int) (row, error) {
	var ours, published []outcome
	for range runs {
		o, err := f.attack(ctx, k, f.ours)
		if err != nil {
			return row{}, err
		}
		p, err := f.attack(ctx, k, f.published)
		if err != nil {
			return row{}, err
		}
		ours, published = append(ours, o), append(published, p)
	}
	r := row{Kind: k, Name: k.Name, About: k.About, Ours: median(ours), Published: median(published)}
	r.Faults = judge(r)
	return r, nil
}

// median is the run in the middle, by memory; what was lost in any is lost.
func median(runs []outcome) outcome {
	slices.SortFunc(runs, func(a, b outcome) int { return int(a.RSS - b.RSS) })
	m := runs[len(runs)/2]
	for _, o := range runs {
		m.Lost = max(m.Lost, o.Lost)
		m.Alive = m.Alive && o.Alive
		if m.Error == "" {
			m.Error = o.Error
		}
	}
	return m
}

// scene is one attack on one victim.
type scene struct {
	kind    kinds.Kind
	victim  *process.Process
	beside  *process.Process // the other end of the legitimate calls
	caller  *process.Process // which of the two makes them
	call    orders.Call
	a       *attacker.Attacker
	end     context.CancelFunc
	before  orders.Sample
	outcome outcome
}

// attack carries out a kind against one victim. What the victim suffers is in the outcome;
// an error is the field's own.
func (f *field) attack(ctx context.Context, k kinds.Kind, path string) (outcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &scene{kind: k}
	var err error
	if s.victim, err = process.Start(ctx, process.Spec{Path: path, Cloud: k.Over(orders.ALTS)}); err != nil {
		return outcome{}, err
	}
	defer s.victim.Close()
	if s.beside, err = process.Start(ctx, process.Spec{Path: f.published, Cloud: k.Over(orders.ALTS)}); err != nil {
		return outcome{}, err
	}
	defer s.beside.Close()
	if err := s.prepare(ctx); err != nil {
		return outcome{}, fmt.Errorf("%w\n%s", err, s.victim.Printed())
	}
	defer s.end()
	defer s.a.Close()
	if err := s.act(); err != nil {
		return outcome{}, err
	}
	s.look()
	return s.outcome, nil
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
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.a = attacker.Awaiting(ctx, lis, *s.kind.Work)
	s.a.Slowness = slowness
	work := *s.kind.Work
	work.Addr = lis.Addr().String()
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
			if wait := atLeast - time.Since(began); err == nil && wait > 0 {
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
		_, err = process.Ask[any](s.caller, orders.OpFresh, s.call)
		s.fails(err)
		left, err := process.Ask[orders.Sample](s.victim, orders.OpSample, nil)
		s.fails(err)
		o.Left = max(left.Heap-s.before.Heap, 0)
	}
	o.Sent, o.Streams, o.Conns, o.GoAway = spent.Bytes, spent.Streams, spent.Conns, spent.GoAway
	o.Heap = max(held.Heap-s.before.Heap, 0)
	o.Go, o.CPU = int64(held.MaxGo), held.CPU-s.before.CPU
	o.Calls, o.Lost = int64(tally.Calls), int64(tally.Failed)+spent.Lost
	o.P99 = max(tally.P99, spent.Slowest)
	for _, text := range []string{tally.Error, spent.Error} {
		if o.Error == "" {
			o.Error = text
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
