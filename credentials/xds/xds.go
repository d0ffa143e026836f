// SPDX-License-Identifier: Apache-2.0

// Package xds has credentials for channels and servers whose security the xDS control plane
// configures (gRFC A29).
//
// A channel takes its security configuration from the cluster that a server's address came from.
// A server takes it from the filter chain that a connection matched. The fallback credentials
// are used where these configure no security, and where xDS is not used at all. They are never
// used instead of a configuration that is in error.
//
// With these credentials a client does not check the server's certificate against the channel's
// target. It checks that the certificate was issued by one of the roots that the cluster names.
// If the cluster has matchers for names, one of the certificate's names must match.
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

// NewServerCredentials returns credentials for a server that package xds makes. On any other
// server they are the same as the fallback credentials. It fails without fallback credentials.
func NewServerCredentials(opts ServerOptions) (credentials.TransportCredentials, error) {
	if opts.FallbackCreds == nil {
		return nil, errNoFallback
	}
	return &serverCreds{creds{opts.FallbackCreds}}, nil
}
