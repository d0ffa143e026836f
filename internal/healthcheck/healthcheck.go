// SPDX-License-Identifier: Apache-2.0

// Package healthcheck connects the channel with client-side health checking (gRFC A17). The
// checking itself is in package health, which registers it here: a program that does not import
// health does not check, even if its service config asks for it.
package healthcheck

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc/connectivity"
)

// Stream is the stream of the health service's Watch. It has the methods of grpc.ClientStream that
// a health check needs.
type Stream interface {
	// SendMsg sends a protobuf message.
	SendMsg(m any) error
	// CloseSend says that no other message follows.
	CloseSend() error
	// RecvMsg waits for a message and decodes it into m. The error is a status, or io.EOF if the
	// RPC has ended with success.
	RecvMsg(m any) error
}

// Params are the parameters of a Func.
type Params struct {
	// Service is the name of the service whose health is watched.
	Service string
	// Open begins an RPC of the method, "/package.Service/Method", on the connection that is
	// watched. The server streams. The RPC's errors are statuses. The RPC ends with ctx.
	Open func(ctx context.Context, method string) (Stream, error)
	// Report gets the state that corresponds to the health: Connecting before an answer, Ready, or
	// TransientFailure with the reason. Func must not call it concurrently.
	Report func(state connectivity.State, reason error)
}

// Func watches the health of a server until ctx is done, and then returns nil. The caller must end
// ctx when the connection drains or closes.
//
// If the server does not have the health service, Func reports Ready and returns early. The status
// that it then returns is for the subchannel's trace.
type Func func(ctx context.Context, p Params) error

var registered atomic.Pointer[Func]

// Register sets the function that Registered returns.
func Register(f Func) { registered.Store(&f) }

// Registered returns the function that was registered, or nil if there is none.
func Registered() Func {
	if f := registered.Load(); f != nil {
		return *f
	}
	return nil
}
