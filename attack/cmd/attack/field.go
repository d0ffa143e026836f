// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc/attack/internal/cloud"
	"google.golang.org/grpc/attack/internal/kinds"
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/process"
)

// field is where attacks take place.
type field struct {
	ours       string             // name, or path
	paths      map[variety]string // of victims that were built
	handshaker string             // address of the ALTS handshaker service, "" until it is needed
	stop       func()             // the service
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
	f := &field{ours: ours, paths: map[variety]string{}}
	for _, impl := range []string{ours, process.Published} {
		if _, err := f.path(ctx, variety{impl, false}); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// variety is a victim that can be built.
type variety struct {
	impl   string
	extras bool
}

// path is where a victim is, which is built if it was not.
func (f *field) path(ctx context.Context, v variety) (string, error) {
	if path, ok := f.paths[v]; ok {
		return path, nil
	}
	path, err := process.Build(ctx, v.impl, v.extras)
	if err == nil {
		f.paths[v] = path
	}
	return path, err
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
		p, err := f.attack(ctx, k, process.Published)
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

// attack carries out a kind against one victim. What the victim suffers is in the outcome;
// an error is the field's own.
func (f *field) attack(ctx context.Context, k kinds.Kind, impl string) (outcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	path, err := f.path(ctx, variety{impl, k.Extras})
	if err != nil {
		return outcome{}, err
	}
	beside, err := f.path(ctx, variety{process.Published, false})
	if err != nil {
		return outcome{}, err
	}
	s := &scene{kind: k}
	defer s.close()
	if err := s.start(ctx, path, beside); err != nil {
		return outcome{}, err
	}
	if err := s.prepare(ctx); err != nil {
		return outcome{}, fmt.Errorf("%w\n%s", err, s.victim.Printed())
	}
	if err := s.act(); err != nil {
		return outcome{}, err
	}
	s.look()
	return s.outcome, nil
}
