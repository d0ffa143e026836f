// SPDX-License-Identifier: Apache-2.0

package balancer

import "google.golang.org/grpc/connectivity"

// ConnectivityStateEvaluator computes the state of a balancer from the states of its subchannels.
// It is not safe for concurrent use.
type ConnectivityStateEvaluator struct {
	// counts has the number of subchannels in each state. Subchannels in Shutdown are not counted:
	// they are gone.
	counts [connectivity.Shutdown]uint64
}

// RecordTransition moves a subchannel from one state to another and returns the balancer's state,
// as CurrentState does. For a new subchannel, oldState is Shutdown.
func (cse *ConnectivityStateEvaluator) RecordTransition(oldState, newState connectivity.State) connectivity.State {
	if cse.tracks(oldState) {
		cse.counts[oldState]--
	}
	if cse.tracks(newState) {
		cse.counts[newState]++
	}
	return cse.CurrentState()
}

// CurrentState returns Ready if a subchannel is ready, else Connecting if one is connecting, else
// Idle if one is idle, else TransientFailure. It returns TransientFailure also if there are no
// subchannels.
func (cse *ConnectivityStateEvaluator) CurrentState() connectivity.State {
	for _, s := range [...]connectivity.State{connectivity.Ready, connectivity.Connecting, connectivity.Idle} {
		if cse.counts[s] > 0 {
			return s
		}
	}
	return connectivity.TransientFailure
}

func (cse *ConnectivityStateEvaluator) tracks(s connectivity.State) bool {
	return s >= 0 && int(s) < len(cse.counts)
}
