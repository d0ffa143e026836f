// SPDX-License-Identifier: Apache-2.0

package xds

import (
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/xds/xdsclient"
)

// ServingModeCallback returns a server option that sets the function to call when the serving
// mode changes. Without it the server logs the changes.
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

// ServingModeCallbackFunc is called with the address of a listener that was passed to Serve. It
// is called when the server begins to serve on that listener, when it stops serving, and when
// the reason why it does not serve changes. Calls for one listener come in order, one at a time.
// The function should return quickly.
type ServingModeCallbackFunc func(addr net.Addr, args ServingModeChangeArgs)

// ServingModeChangeArgs are the arguments of a ServingModeCallbackFunc.
type ServingModeChangeArgs struct {
	// Mode is the new mode.
	Mode connectivity.ServingMode
	// Err says why the server does not serve. It is nil if the server serves.
	Err error
}

// BootstrapContentsForTesting returns a server option that sets the bootstrap configuration,
// which otherwise comes from the environment, and gives the server an xDS client of its own. It
// is for tests.
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

// ClientPoolForTesting returns a server option that makes the server take its xDS client from
// pool. It is for tests.
//
// Experimental: this API may change in a later release.
func ClientPoolForTesting(pool *xdsclient.Pool) grpc.ServerOption {
	return &serverOption{set: func(s *source) { s.pool = func() *xdsclient.Pool { return pool } }}
}
