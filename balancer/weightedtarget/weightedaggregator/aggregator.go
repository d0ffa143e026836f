// SPDX-License-Identifier: Apache-2.0

// Package weightedaggregator makes one state and picker of those of several policies that
// share the RPCs by weight.
//
// All of it may change or go in a later release.
package weightedaggregator

import (
	"errors"
	"slices"
	"sync"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/few"
	"google.golang.org/grpc/internal/grpclog"
	"google.golang.org/grpc/internal/wrr"
)

// waiting is the picker of a policy that has reported nothing yet.
var waiting = base.NewErrPicker(balancer.ErrNoSubConnAvailable)

var errEmpty = errors.New("weighted-target: no targets to pick from")

// Aggregator takes the states of policies, each with an id, and reports theirs as a
// whole: the best one of Ready, Connecting, Idle and TransientFailure. An RPC goes to one
// of those in that state, at random by their weights. A policy that has failed counts as
// failed until it is ready or idle (gRFC A28). It is safe for concurrent use.
type Aggregator struct {
	// Immutable.
	cc     balancer.ClientConn
	logger *grpclog.PrefixLogger
	newWRR func() wrr.WRR

	// mu is held during reports, so that cc sees them in order.
	mu       sync.Mutex
	started  bool
	paused   bool
	pending  bool                    // there is something to report after the pause
	policies few.Map[string, policy] // localities mostly: one or two
}

type policy struct {
	weight uint32
	state  balancer.State
}

// New returns an aggregator that reports to cc, once it is started. newWRR returns what
// chooses among the pickers.
func New(cc balancer.ClientConn, logger *grpclog.PrefixLogger, newWRR func() wrr.WRR) *Aggregator {
	return &Aggregator{cc: cc, logger: logger, newWRR: newWRR}
}

// Start makes it report, from the next change on.
func (a *Aggregator) Start() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.started = true
}

// Stop ends reports, until the next Start, and removes all policies.
func (a *Aggregator) Stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.started = false
	a.policies.Clear()
}

// Add adds a policy, Connecting until its state comes, and reports nothing. An id that is
// there already stays as it is.
func (a *Aggregator) Add(id string, weight uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.policies.Get(id); ok {
		return
	}
	a.policies.Set(id, policy{weight, balancer.State{ConnectivityState: connectivity.Connecting, Picker: waiting}})
}

// Remove removes a policy, and reports nothing. Of an unknown id nothing comes.
func (a *Aggregator) Remove(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.policies.Delete(id)
}

// UpdateWeight changes a policy's weight, and reports nothing.
func (a *Aggregator) UpdateWeight(id string, newWeight uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p, ok := a.policies.Get(id); ok {
		a.policies.Set(id, policy{newWeight, p.state})
	}
}

// PauseStateUpdates holds reports back until ResumeStateUpdates.
func (a *Aggregator) PauseStateUpdates() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.paused = true
}

// ResumeStateUpdates ends a pause, and reports if anything was held back.
func (a *Aggregator) ResumeStateUpdates() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.paused = false
	if a.pending {
		a.pending = false
		a.publish()
	}
}

// NeedUpdateStateOnResume makes the next ResumeStateUpdates report in any case.
func (a *Aggregator) NeedUpdateStateOnResume() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending = true
}

// UpdateState takes a policy's state and reports. Of an unknown id nothing comes.
func (a *Aggregator) UpdateState(id string, newState balancer.State) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p, ok := a.policies.Get(id)
	if !ok {
		return
	}
	// Its picker stays, too: RPCs are to fail meanwhile, and not to wait.
	retries := p.state.ConnectivityState == connectivity.TransientFailure && newState.ConnectivityState == connectivity.Connecting
	if !retries {
		a.policies.Set(id, policy{p.weight, newState})
	}
	a.publish()
}

// publish reports, or notes that it has to. mu is held.
func (a *Aggregator) publish() {
	if a.paused {
		a.pending = true
		return
	}
	if a.started {
		s := a.whole()
		if a.logger.V(2) {
			a.logger.Infof("[%p] %d policies are %v as a whole", a, a.policies.Len(), s.ConnectivityState)
		}
		a.cc.UpdateState(s)
	}
}

// whole returns the state of all policies.
func (a *Aggregator) whole() balancer.State {
	if a.policies.Len() == 0 {
		return balancer.State{ConnectivityState: connectivity.TransientFailure, Picker: base.NewErrPicker(errEmpty)}
	}
	var all balancer.ConnectivityStateEvaluator
	for _, p := range a.policies.All {
		all.RecordTransition(connectivity.Shutdown, p.state.ConnectivityState)
	}
	state := all.CurrentState()
	return balancer.State{ConnectivityState: state, Picker: a.picker(state)}
}

func (a *Aggregator) picker(state connectivity.State) balancer.Picker {
	all, chosen := make([]policy, 0, a.policies.Len()), make([]policy, 0, a.policies.Len())
	for _, p := range a.policies.All {
		if all = append(all, p); p.state.ConnectivityState == state {
			chosen = append(chosen, p)
		}
	}
	if len(chosen) == 0 { // all report what is not a state of a balancer
		chosen = all
	}
	weightless := !slices.ContainsFunc(chosen, func(p policy) bool { return p.weight > 0 })
	w := a.newWRR()
	for _, p := range chosen {
		weight := int64(p.weight)
		if weightless {
			weight = 1 // rather than none of them
		}
		w.Add(p.state.Picker, weight)
	}
	return &picker{w}
}

type picker struct {
	pickers wrr.WRR
}

func (p *picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	next, ok := p.pickers.Next().(balancer.Picker)
	if !ok {
		return balancer.PickResult{}, balancer.ErrNoSubConnAvailable
	}
	return next.Pick(info)
}
