// SPDX-License-Identifier: Apache-2.0

// Package nesting says how many channels lie above one that a balancer made for itself. Such a channel gets its policy from a
// control plane, too, and that policy may want a channel of its own again, without end.
package nesting

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/resolver"
)

// Most is how many channels of balancers may lie one below the other.
const Most = 4

// ErrTooDeep says that a channel would lie below too many others.
var ErrTooDeep = errors.New(fmt.Sprint("the channels of balancers would lie more than ", Most, " deep"))

type key struct{}

// Attach returns s for the balancer of a channel that lies below n others.
func Attach(s resolver.State, n int) resolver.State {
	s.Attributes = s.Attributes.WithValue(key{}, n)
	return s
}

// Of returns how many channels lie above the balancer's.
func Of(s resolver.State) int {
	n, _ := s.Attributes.Value(key{}).(int)
	return n
}
