// SPDX-License-Identifier: Apache-2.0

// Package loadreport connects channels with package orca, which reads the load that a
// server reports in its trailers. Package orca registers its parser here, so channels do
// not import package orca.
package loadreport

import (
	"sync/atomic"

	"google.golang.org/grpc/metadata"
)

// ParseFunc returns the load report in the trailers, or nil if there is none.
type ParseFunc func(trailer metadata.MD) any

var registered atomic.Pointer[ParseFunc]

// Register sets the parser that all channels use. Call it in an init function.
func Register(f ParseFunc) { registered.Store(&f) }

// Parse returns the load report in the trailers. It returns nil if there is no report, or
// if no parser is registered.
func Parse(trailer metadata.MD) any {
	if f := registered.Load(); f != nil {
		return (*f)(trailer)
	}
	return nil
}
