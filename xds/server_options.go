// SPDX-License-Identifier: Apache-2.0

package xds

import (
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/xds/xdsclient"
)

// ServingModeCallback has cb told whether the server serves. Without it changes are logged.
func ServingModeCallback(cb ServingModeCallbackFunc) grpc.ServerOption {
	return &serverOption{set: func(s *source) {
		if cb == nil {
			s.modeChanged = nil
			return
		}
		s.modeChanged = func(addr net.Addr, mode connectivity.ServingMode, err error) {
			cb(addr, ServingModeChangeArgs{Mode: mode, Err: err})
		}
	}}
}

// ServingModeCallbackFunc is told, for each listener that Serve was called with, by its address,
// when the server begins to serve, when it stops to, and also when there is another reason why
// it does not. Calls for one listener come in order, one at a time. It should not take long.
type ServingModeCallbackFunc func(addr net.Addr, args ServingModeChangeArgs)

// ServingModeChangeArgs are what a ServingModeCallbackFunc is told.
type ServingModeChangeArgs struct {
	// Mode is the new mode.
	Mode connectivity.ServingMode
	// Err says why the server does not serve; nil if it does.
	Err error
}

// BootstrapContentsForTesting gives the server a bootstrap configuration in place of that of the
// environment, and an xDS client of its own. It is for tests.
//
// Experimental: this API may change in a later release.
func BootstrapContentsForTesting(bootstrapContents []byte) grpc.ServerOption {
	return &serverOption{set: func(s *source) {
		b, err := xdsclient.ParseBootstrap(bootstrapContents)
		if err != nil {
			s.err = err
			return
		}
		s.pool = func() *xdsclient.Pool { return xdsclient.NewPoolOf(b) }
	}}
}

// ClientPoolForTesting gives the server an xDS client of a pool. It is for tests.
//
// Experimental: this API may change in a later release.
func ClientPoolForTesting(pool *xdsclient.Pool) grpc.ServerOption {
	return &serverOption{set: func(s *source) { s.pool = func() *xdsclient.Pool { return pool } }}
}
