// SPDX-License-Identifier: Apache-2.0

package endpointsharding

import (
	"math/rand/v2"
	"sync/atomic"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"
)

// ChildStatesFromPicker returns the states of the children of the balancer that reported p, in the
// resolver's order. It returns nil if that was not a balancer of NewBalancer, or if it has no
// children. Do not change the slice.
func ChildStatesFromPicker(p balancer.Picker) []ChildState {
	if p, ok := p.(*picker); ok {
		return p.states
	}
	return nil
}

// picker takes turns among the pickers of the children that are in the best state.
type picker struct {
	pickers []balancer.Picker // not empty
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
	if len(p.pickers) == 0 { // the children report only Shutdown, which is no state of a balancer
		for _, s := range states {
			p.pickers = append(p.pickers, s.State.Picker)
		}
	}
	// If every client began with the first endpoint, that one would get more than its share of
	// RPCs.
	p.next.Store(rand.Uint32N(uint32(len(p.pickers))))
	return p
}

func (p *picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	n := p.next.Add(1)
	return p.pickers[n%uint32(len(p.pickers))].Pick(info)
}

// ChildState is the state of one endpoint's child.
type ChildState struct {
	// Endpoint is the endpoint as it was in the resolver's last update.
	Endpoint resolver.Endpoint
	// State is the state that the child reported last, and Connecting before its first report.
	State balancer.State
	// ExitIdle makes the child leave idle mode. It does not wait for that. Any goroutine may call
	// it at any time, even when the child is gone.
	ExitIdle func()
}
