// SPDX-License-Identifier: Apache-2.0

// Package tap lets a server look at an RPC, and refuse it, before anything is spent
// on it.
//
// Experimental: this API may change in a later release.
package tap

import (
	"context"

	"google.golang.org/grpc/metadata"
)

// Info is what is known of an RPC when its headers arrived.
type Info struct {
	// FullMethodName is "/package.Service/Method".
	FullMethodName string
	// Header is the received metadata. It must not be changed.
	Header metadata.MD
}

// ServerInHandle is called once for each RPC, before anything else is done for it.
// It should return quickly: the RPC waits. Calls may be concurrent. The context that it returns, derived from ctx, becomes that of the RPC. An
// error refuses the RPC: with the error's own status if it has one, with
// PermissionDenied otherwise.
type ServerInHandle func(ctx context.Context, info *Info) (context.Context, error)
