// SPDX-License-Identifier: Apache-2.0

// Package pickfirst has the name of the pick_first policy, which package grpc registers. The policy
// connects to one address after the other, and stays with the first that works (gRFC A61, A62).
//
// All of this package may change or be removed in a later release.
package pickfirst

import (
	"google.golang.org/grpc/internal/balancer/pickfirst"
	"google.golang.org/grpc/resolver"
)

// Name is the policy's name.
const Name = pickfirst.Name

// EnableHealthListener returns state with a mark. A policy passes the result to its pick_first
// children, which are then ready only while the server is healthy or its health is not checked. As
// a channel's policy, pick_first ignores health.
func EnableHealthListener(state resolver.State) resolver.State {
	return pickfirst.EnableHealthListener(state)
}
