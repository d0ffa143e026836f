// SPDX-License-Identifier: Apache-2.0

// Package loadreport is where package orca tells channels how to read the load that a
// server reports in its trailers, without channels importing it.
package loadreport

import (
	"sync/atomic"

	"google.golang.org/grpc/metadata"
)

// ParseFunc returns the report in the trailers, nil if there is none.
type ParseFunc func(trailer metadata.MD) any

var registered atomic.Pointer[ParseFunc]

// Register makes f the parser for all channels. It is meant for an init function.
func Register(f ParseFunc) { registered.Store(&f) }

// Parse returns the report in the trailers, nil if there is none or nobody can read it.
func Parse(trailer metadata.MD) any {
	if f := registered.Load(); f != nil {
		return (*f)(trailer)
	}
	return nil
}
