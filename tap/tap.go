// SPDX-License-Identifier: Apache-2.0

// Package tap lets a server look at an RPC and refuse it, before the server spends
// anything on it.
//
// Experimental: this API may change in a later release.
package tap

import (
	"context"

	"google.golang.org/grpc/metadata"
)

// Info has what is known of an RPC when its headers have arrived.
type Info struct {
	// FullMethodName is "/package.Service/Method".
	FullMethodName string
	// Header is the received metadata. It must not be changed.
	Header metadata.MD
}

// ServerInHandle is called once for each RPC, before the server does anything else for
// it. It should return quickly, because the RPC waits. Calls may be concurrent. It must
// derive the context that it returns from ctx; that context becomes the RPC's. Once it has
// ended, the handler no longer waits for the client: RecvMsg and SendMsg fail with its error
// (behind net/http only RecvMsg does), and a stream that was handed over ends. A handler
// that goes on without waiting may still succeed. If it returns an error, the server refuses
// the RPC: with the error's own status if it has one, and with PermissionDenied otherwise.
type ServerInHandle func(ctx context.Context, info *Info) (context.Context, error)
