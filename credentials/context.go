// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/internal/ctxkey"
)

// RequestInfo describes the RPC that GetRequestMetadata is called for.
//
// Experimental: this API may change in a later release.
type RequestInfo struct {
	// Method is "/package.Service/Method".
	Method string
	// AuthInfo is that of the connection, nil if there is none.
	AuthInfo AuthInfo
}

// RequestInfoFromContext returns the RequestInfo of a context that the library
// passed to GetRequestMetadata.
//
// Experimental: this API may change in a later release.
func RequestInfoFromContext(ctx context.Context) (ri RequestInfo, ok bool) {
	ri, ok = ctx.Value(ctxkey.RequestInfo{}).(RequestInfo)
	return ri, ok
}

// NewContextWithRequestInfo returns a context that holds ri, for testing
// PerRPCCredentials and for those that call others.
//
// Experimental: this API may change in a later release.
func NewContextWithRequestInfo(ctx context.Context, ri RequestInfo) context.Context {
	return context.WithValue(ctx, ctxkey.RequestInfo{}, ri)
}

// ClientHandshakeInfo is what ClientHandshake may want to know beside its
// arguments.
//
// Experimental: this API may change in a later release.
type ClientHandshakeInfo struct {
	// Attributes are those of the address being dialed.
	Attributes *attributes.Attributes
}

// ClientHandshakeInfoFromContext returns the ClientHandshakeInfo of a context that
// the library passed to ClientHandshake, the zero value for any other.
//
// Experimental: this API may change in a later release.
func ClientHandshakeInfoFromContext(ctx context.Context) ClientHandshakeInfo {
	info, _ := ctx.Value(ctxkey.ClientHandshakeInfo{}).(ClientHandshakeInfo)
	return info
}
