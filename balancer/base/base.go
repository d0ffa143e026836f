// SPDX-License-Identifier: Apache-2.0

// Package base builds simple balancers. They connect one SubConn to each address, and pick among
// the SubConns that are ready.
//
// All of this package may change or be removed in a later release.
package base

import (
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/resolver"
)

// PickerBuilder makes the pickers of a balancer.
type PickerBuilder interface {
	// Build makes a picker that picks among the SubConns that are ready. If there are none, the
	// picker should make RPCs wait.
	Build(info PickerBuildInfo) balancer.Picker
}

// PickerBuildInfo is what a picker is made from.
type PickerBuildInfo struct {
	// ReadySCs are the SubConns that are ready.
	ReadySCs map[balancer.SubConn]SubConnInfo
}

// SubConnInfo describes a SubConn.
type SubConnInfo struct {
	// Address is the address that the SubConn was made for.
	Address resolver.Address
}

// Config has the options of a balancer.
type Config struct {
	// HealthCheck turns on client-side health checking (gRFC A17) for channels whose service config
	// names a service to check.
	HealthCheck bool
}

// NewErrPicker returns a picker whose every Pick returns err.
func NewErrPicker(err error) balancer.Picker {
	return errPicker{err}
}

// NewErrPickerV2 is the same as NewErrPicker.
//
// Deprecated: use NewErrPicker.
var NewErrPickerV2 = NewErrPicker

type errPicker struct {
	err error
}

func (p errPicker) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	return balancer.PickResult{}, p.err
}
