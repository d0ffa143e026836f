// SPDX-License-Identifier: Apache-2.0

package endpointsharding

import (
	"math/rand/v2"
	"sync/atomic"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"
)

// ChildStatesFromPicker returns the children behind a picker that NewBalancer's balancer
// reported, in the order of the resolver; nil for any other picker, and when there are
// none. Do not change the slice.
func ChildStatesFromPicker(p balancer.Picker) []ChildState {
	if p, ok := p.(*picker); ok {
		return p.states
	}
	return nil
}

// picker goes round the pickers of the children that are in the best state.
type picker struct {
	pickers []balancer.Picker // one at least
	states  []ChildState
	next    atomic.Uint32
}

// newPicker makes the picker of a balancer in the given state.
func newPicker(state connectivity.State, states []ChildState) *picker {
	p := &picker{states: states}
	for _, s := range states {
		if s.State.ConnectivityState == state {
			p.pickers = append(p.pickers, s.State.Picker)
		}
	}
	if len(p.pickers) == 0 { // the children report what is not a state of a balancer
		for _, s := range states {
			p.pickers = append(p.pickers, s.State.Picker)
		}
	}
	// Where each client began with the first endpoint, that would get more than its
	// share of RPCs.
	p.next.Store(rand.Uint32N(uint32(len(p.pickers))))
	return p
}

func (p *picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	n := p.next.Add(1)
	return p.pickers[n%uint32(len(p.pickers))].Pick(info)
}

// ChildState is what is known of one endpoint's child.
type ChildState struct {
	// Endpoint is the endpoint, as the last update had it.
	Endpoint resolver.Endpoint
	// State is what the child reported last: Connecting before its first report.
	State balancer.State
	// ExitIdle tells the child to leave idleness, without waiting for it. It may be
	// called at any time and from any goroutine, also when the child is gone.
	ExitIdle func()
}
