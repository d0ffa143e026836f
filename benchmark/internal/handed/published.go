// SPDX-License-Identifier: Apache-2.0

//go:build published

// Package handed has nothing for the published module.
package handed

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/benchmark/benchpb"
)

var errUnsupported = errors.New("the published module has no streams without a goroutine")

// On says that it is never on.
func On() bool { return false }

// Hub has no watchers.
type Hub struct{}

// NewHub returns a Hub.
func NewHub() *Hub { return nil }

// Watch fails.
func (*Hub) Watch(*benchpb.State, grpc.ServerStreamingServer[benchpb.State]) error {
	return errUnsupported
}

// Publish reaches nobody.
func (*Hub) Publish(*benchpb.State) uint64 { return 0 }

// Listeners hear nothing.
type Listeners struct{}

// NewListeners returns Listeners.
func NewListeners(func(*benchpb.State)) *Listeners { return nil }

// Listen fails.
func (*Listeners) Listen(context.Context, benchpb.BenchClient) error { return errUnsupported }
