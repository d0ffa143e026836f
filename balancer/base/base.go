// SPDX-License-Identifier: Apache-2.0

// Package base builds simple balancers: one SubConn for each address, all of them
// connected, and a picker over those that are ready.
//
// All of it may change or go in a later release.
package base

import (
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/resolver"
)

// PickerBuilder makes the pickers of a balancer.
type PickerBuilder interface {
	// Build makes a picker over the SubConns that are ready. There may be none; the
	// picker should make RPCs wait then.
	Build(info PickerBuildInfo) balancer.Picker
}

// PickerBuildInfo is what a picker is made from.
type PickerBuildInfo struct {
	// ReadySCs are the SubConns that are ready.
	ReadySCs map[balancer.SubConn]SubConnInfo
}

// SubConnInfo says more about a SubConn.
type SubConnInfo struct {
	// Address is the address that the SubConn was made for.
	Address resolver.Address
}

// Config says how a balancer is to work.
type Config struct {
	// HealthCheck switches client-side health checking on (gRFC A17), for channels
	// whose service config names a service to check.
	HealthCheck bool
}

// NewErrPicker returns a picker whose every Pick returns err.
func NewErrPicker(err error) balancer.Picker {
	return errPicker{err}
}

// NewErrPickerV2 is NewErrPicker.
//
// Deprecated: use NewErrPicker.
var NewErrPickerV2 = NewErrPicker

type errPicker struct {
	err error
}

func (p errPicker) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	return balancer.PickResult{}, p.err
}
