// SPDX-License-Identifier: Apache-2.0

package balancer

import (
	"context"
	"errors"

	"google.golang.org/grpc/metadata"
)

var (
	// ErrNoSubConnAvailable from Pick makes the RPC wait for the next picker.
	ErrNoSubConnAvailable = errors.New("no SubConn is available")

	// ErrTransientFailure from Pick fails the RPC, unless it is wait-for-ready.
	//
	// Deprecated: return an error that says what failed.
	ErrTransientFailure = errors.New("all SubConns are in TransientFailure")

	// ErrBadResolverState from UpdateClientConnState says that the balancer could not use what the
	// resolver found. The channel then asks the resolver to try again.
	ErrBadResolverState = errors.New("bad resolver state")
)

// TransientFailureError returns e.
//
// Deprecated: return the error itself from Pick.
func TransientFailureError(e error) error { return e }

// Picker chooses the SubConn for each RPC. What it chooses from does not change: for every change
// the balancer gives the channel a new Picker. Many goroutines call Pick concurrently, so state
// that Pick changes needs a lock or atomics.
type Picker interface {
	// Pick chooses a SubConn. It must not block. It may return:
	//   - ErrNoSubConnAvailable: the RPC waits for a new picker, if none has come meanwhile.
	//   - An error with a status (package status): the RPC fails with it, also when it
	//     is wait-for-ready. Codes that only an application may produce become
	//     Internal (gRFC A54).
	//   - Another error: a wait-for-ready RPC waits for a new picker; others fail with
	//     Unavailable and the error's text.
	//   - A SubConn that is not ready: the RPC waits for a new picker.
	Pick(info PickInfo) (PickResult, error)
}

// PickInfo describes an RPC to Pick.
type PickInfo struct {
	// FullMethodName is the RPC's method, "/package.service/method".
	FullMethodName string
	// Ctx is the RPC's context, which may carry metadata.
	Ctx context.Context
}

// PickResult is what Pick chose.
type PickResult struct {
	// SubConn is the SubConn that the RPC uses. It must come from this balancer's ClientConn.
	SubConn SubConn
	// Done, if not nil, is called once the RPC is over on this SubConn. It should
	// return quickly.
	Done func(DoneInfo)
	// Metadata is added to the metadata that the RPC sends. It may be nil.
	Metadata metadata.MD
}

// DoneInfo says how an RPC ended.
type DoneInfo struct {
	// Err is the RPC's error, nil for a success. It is also nil, without BytesSent, if the pick was not used:
	// the SubConn had just lost its connection, and the RPC is picked for again.
	Err error
	// Trailer is the metadata of the trailers, if they came.
	Trailer metadata.MD
	// BytesSent says whether anything of the RPC was written to the wire.
	BytesSent bool
	// BytesReceived says whether anything came back from the server.
	BytesReceived bool
	// ServerLoad is the load that the server reported in its trailers, a *v3orcapb.OrcaLoadReport.
	// If the server reported none, it is nil, or in programs that import package orca, where trailers came, a nil
	// *v3orcapb.OrcaLoadReport: assert the type, and compare that with nil.
	ServerLoad any
}
