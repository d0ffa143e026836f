// SPDX-License-Identifier: Apache-2.0

// Package connectivity names the states of a channel; see
// grpc/doc/connectivity-semantics-and-api.md.
package connectivity

// State is the state of a channel or of one of its connections.
type State int

const (
	// Idle means that there is no connection, and none will be made until an RPC or Connect asks
	// for one.
	Idle State = iota
	// Connecting means that the channel is resolving names, dialing or shaking hands.
	Connecting
	// Ready means that RPCs can be sent.
	Ready
	// TransientFailure means that connecting failed, and will be tried again after a pause.
	TransientFailure
	// Shutdown means that the channel or connection is closed for good.
	Shutdown
)

// String returns the state's name in the spelling of the specification.
func (s State) String() string {
	switch s {
	case Idle:
		return "IDLE"
	case Connecting:
		return "CONNECTING"
	case Ready:
		return "READY"
	case TransientFailure:
		return "TRANSIENT_FAILURE"
	case Shutdown:
		return "SHUTDOWN"
	}
	return "INVALID_STATE"
}

// ServingMode is the state of a server that is configured from outside (xDS).
type ServingMode int

const (
	// ServingModeStarting means that the server is not configured yet.
	ServingModeStarting ServingMode = iota
	// ServingModeServing means that the server is configured and accepts RPCs.
	ServingModeServing
	// ServingModeNotServing means that the server has no valid configuration and refuses
	// connections.
	ServingModeNotServing
)

// String returns the mode's name.
func (m ServingMode) String() string {
	switch m {
	case ServingModeStarting:
		return "STARTING"
	case ServingModeServing:
		return "SERVING"
	case ServingModeNotServing:
		return "NOT_SERVING"
	}
	return "INVALID_MODE"
}
