// SPDX-License-Identifier: Apache-2.0

// Package xds has credentials for channels and servers whose security the xDS control plane
// configures (gRFC A29).
//
// A channel goes by the cluster that it found a server through, a server by the filter chain
// that a connection matched. Where these say nothing of security, and where xDS is not used at
// all, the fallback credentials are used; never where there is an error.
//
// With such credentials a client does not check the server's certificate against the channel's
// target. It checks that the certificate comes from the roots that the cluster names, and one of
// its names against the cluster's matchers, if there are any.
//
// Experimental: this API may change in a later release.
package xds

import (
	"errors"

	"google.golang.org/grpc/credentials"
)

var errNoFallback = errors.New("missing fallback credentials")

// ClientOptions are the options of NewClientCredentials.
type ClientOptions struct {
	// FallbackCreds are used where xDS configures no security. They must not be nil.
	FallbackCreds credentials.TransportCredentials
}

// NewClientCredentials returns credentials for a channel. It fails without fallback credentials.
func NewClientCredentials(opts ClientOptions) (credentials.TransportCredentials, error) {
	if opts.FallbackCreds == nil {
		return nil, errNoFallback
	}
	return &clientCreds{creds{opts.FallbackCreds}}, nil
}

// ServerOptions are the options of NewServerCredentials.
type ServerOptions struct {
	// FallbackCreds are used where xDS configures no security. They must not be nil.
	FallbackCreds credentials.TransportCredentials
}

// NewServerCredentials returns credentials for a server that package xds makes; on another the
// fallback credentials are used. It fails without fallback credentials.
func NewServerCredentials(opts ServerOptions) (credentials.TransportCredentials, error) {
	if opts.FallbackCreds == nil {
		return nil, errNoFallback
	}
	return &serverCreds{creds{opts.FallbackCreds}}, nil
}
