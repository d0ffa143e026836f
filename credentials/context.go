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
	// AuthInfo is what the handshake of the RPC's connection returned. It is nil if there is none.
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

// NewContextWithRequestInfo returns a context that holds ri. It is for tests of
// PerRPCCredentials, and for PerRPCCredentials that call other ones.
//
// Experimental: this API may change in a later release.
func NewContextWithRequestInfo(ctx context.Context, ri RequestInfo) context.Context {
	return context.WithValue(ctx, ctxkey.RequestInfo{}, ri)
}

// ClientHandshakeInfo is what ClientHandshake may want to know in addition to its
// arguments.
//
// Experimental: this API may change in a later release.
type ClientHandshakeInfo struct {
	// Attributes are the attributes of the address being dialed.
	Attributes *attributes.Attributes
}

// ClientHandshakeInfoFromContext returns the ClientHandshakeInfo of a context that
// the library passed to ClientHandshake. For any other context it returns the zero value.
//
// Experimental: this API may change in a later release.
func ClientHandshakeInfoFromContext(ctx context.Context) ClientHandshakeInfo {
	info, _ := ctx.Value(ctxkey.ClientHandshakeInfo{}).(ClientHandshakeInfo)
	return info
}
