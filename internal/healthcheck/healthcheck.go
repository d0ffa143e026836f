// SPDX-License-Identifier: Apache-2.0

// Package healthcheck is the seam between the channel and client-side health checking
// (gRFC A17). The checking itself is in package health, which registers it here: a
// program that does not import health does not check, whatever its service config says.
package healthcheck

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc/connectivity"
)

// Stream is the stream of the health service's Watch: grpc.ClientStream as far as it is
// needed.
type Stream interface {
	// SendMsg sends a protobuf message.
	SendMsg(m any) error
	// CloseSend says that no other follows.
	CloseSend() error
	// RecvMsg waits for a message, and decodes it into m. The error is a status, or
	// io.EOF for a success.
	RecvMsg(m any) error
}

// Params say what is watched, and who wants to know.
type Params struct {
	// Service is the name that the server is asked about.
	Service string
	// Open begins an RPC of the full method on the one connection that is watched. The
	// RPC streams from the server, and its errors are statuses. It ends with its context.
	Open func(ctx context.Context, method string) (Stream, error)
	// Report takes the state that the health amounts to: Connecting before an answer,
	// Ready, or TransientFailure with the reason. It is called by one goroutine at a time.
	Report func(state connectivity.State, reason error)
}

// Func watches the health of a server until the context is done, which has to happen
// when the connection drains or closes. It then returns nil.
//
// It returns early when the server does not have the health service: the last report
// was Ready then, and the status that it returns is for the trace of the subchannel.
type Func func(ctx context.Context, p Params) error

var registered atomic.Pointer[Func]

// Register sets what Registered returns.
func Register(f Func) { registered.Store(&f) }

// Registered returns the function that was registered, nil if none was.
func Registered() Func {
	if f := registered.Load(); f != nil {
		return *f
	}
	return nil
}
