// SPDX-License-Identifier: Apache-2.0

// Package weightedaggregator combines the states and pickers of several policies, which share the
// RPCs by weight, into one.
//
// All of this package may change or be removed in a later release.
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

// Aggregator gets the states of policies, each of which has an id, and reports one state for all:
// the best one, in the order Ready, Connecting, Idle, TransientFailure. An RPC goes to a policy in
// that state, at random in proportion to the weights. A policy that has failed counts as failed
// until it is ready or idle (gRFC A28). An Aggregator is safe for concurrent use.
type Aggregator struct {
	// Immutable.
	cc     balancer.ClientConn
	logger *grpclog.PrefixLogger
	newWRR func() wrr.WRR

	// mu is held during reports, so that cc gets them in order.
	mu       sync.Mutex
	started  bool
	paused   bool
	pending  bool                    // ResumeStateUpdates must report
	policies few.Map[string, policy] // usually localities: one or two
}

type policy struct {
	weight uint32
	state  balancer.State
}

// New returns an Aggregator that reports to cc once it is started. newWRR returns the scheduler
// that chooses among the pickers.
func New(cc balancer.ClientConn, logger *grpclog.PrefixLogger, newWRR func() wrr.WRR) *Aggregator {
	return &Aggregator{cc: cc, logger: logger, newWRR: newWRR}
}

// Start makes the Aggregator report, beginning with the next change.
func (a *Aggregator) Start() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.started = true
}

// Stop ends reports until the next Start, and removes all policies.
func (a *Aggregator) Stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.started = false
	a.policies.Clear()
}

// Add adds a policy and reports nothing. The policy is Connecting until its first UpdateState. If
// there is a policy with the id, Add does nothing.
func (a *Aggregator) Add(id string, weight uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.policies.Get(id); ok {
		return
	}
	a.policies.Set(id, policy{weight, balancer.State{ConnectivityState: connectivity.Connecting, Picker: waiting}})
}

// Remove removes a policy and reports nothing. It ignores an unknown id.
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

// PauseStateUpdates delays reports until ResumeStateUpdates.
func (a *Aggregator) PauseStateUpdates() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.paused = true
}

// ResumeStateUpdates ends a pause, and reports if a report was delayed.
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

// UpdateState stores a policy's state and reports. It ignores an unknown id.
func (a *Aggregator) UpdateState(id string, newState balancer.State) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p, ok := a.policies.Get(id)
	if !ok {
		return
	}
	// The picker stays, too, so that RPCs fail meanwhile and do not wait.
	retries := p.state.ConnectivityState == connectivity.TransientFailure && newState.ConnectivityState == connectivity.Connecting
	if !retries {
		a.policies.Set(id, policy{p.weight, newState})
	}
	a.publish()
}

// publish reports the state. During a pause it only records that ResumeStateUpdates must report.
// The caller must hold mu.
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

// whole returns the combined state of all policies.
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
	if len(chosen) == 0 { // all report Shutdown, which is no state of a balancer
		chosen = all
	}
	weightless := !slices.ContainsFunc(chosen, func(p policy) bool { return p.weight > 0 })
	w := a.newWRR()
	for _, p := range chosen {
		weight := int64(p.weight)
		if weightless {
			weight = 1 // if all weights are zero, all policies get the same share
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
