// SPDX-License-Identifier: Apache-2.0

// Package pickfirst names the pick_first policy, which importing the package grpc
// registers: it connects to one address after the other, and stays with the first that
// works (gRFC A61, A62).
//
// All of it may change or go in a later release.
package pickfirst

import (
	"google.golang.org/grpc/internal/balancer/pickfirst"
	"google.golang.org/grpc/resolver"
)

// Name is the policy's name.
const Name = pickfirst.Name

// EnableHealthListener marks what a policy passes to pick_first children of its own: they
// then are ready only while the server's health, as far as it is watched, is good.
// pick_first as a channel's policy does not look at health.
func EnableHealthListener(state resolver.State) resolver.State {
	return pickfirst.EnableHealthListener(state)
}
