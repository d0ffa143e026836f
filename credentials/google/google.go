// SPDX-License-Identifier: Apache-2.0

// Package google has credentials for Google Cloud's services. Its bundles secure connections
// by TLS or ALTS, depending on the server, and send an access token with each RPC. It also has
// per-RPC credentials that send an identity token of the machine's service account.
//
// Experimental: this API may change in a later release.
package google

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/alts"
	"google.golang.org/grpc/credentials/oauth"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/credsmode"
)

// cloudScope is the OAuth scope for everything that the account may do.
const cloudScope = "https://www.googleapis.com/auth/cloud-platform"

// findTimeout bounds the search for application default credentials.
const findTimeout = 30 * time.Second

var logger = grpclog.Component("credentials")

// DefaultCredentialsOptions are the options of NewDefaultCredentialsWithOptions.
type DefaultCredentialsOptions struct {
	// PerRPCCreds, if they are not nil, authenticate RPCs in place of the application default
	// credentials.
	PerRPCCreds credentials.PerRPCCredentials
	// ALTSPerRPCCreds, if they are not nil, authenticate RPCs on ALTS connections in place of
	// the credentials for other connections. They may send a token that is bound to the
	// connection, for example.
	ALTSPerRPCCreds credentials.PerRPCCredentials
}

// NewDefaultCredentials returns a bundle that sends the tokens of the application default
// credentials (see oauth.NewApplicationDefault). If there are none, it logs a warning and
// RPCs carry no token. It may wait for the search, for up to 30 seconds.
//
// Connections use TLS, with these exceptions: connections to grpclb's load balancers, and to
// servers that they name, use ALTS. So do connections to the servers of an xDS cluster, unless
// the cluster is one of Google's front ends, whose names begin with "google_cfe_" (in xdstp
// names, the last part does).
func NewDefaultCredentials() credentials.Bundle {
	return NewDefaultCredentialsWithOptions(DefaultCredentialsOptions{})
}

// NewDefaultCredentialsWithOptions is like NewDefaultCredentials, with options.
func NewDefaultCredentialsWithOptions(opts DefaultCredentialsOptions) credentials.Bundle {
	if opts.PerRPCCreds == nil {
		opts.PerRPCCreds = applicationDefault()
	}
	if opts.ALTSPerRPCCreds == nil {
		return newBundle(opts.PerRPCCreds)
	}
	return newBundle(dualCreds{others: opts.PerRPCCreds, alts: opts.ALTSPerRPCCreds})
}

// applicationDefault returns the application default credentials. If it finds none, it logs a
// warning and returns nil.
func applicationDefault() credentials.PerRPCCredentials {
	// The credentials keep the context and fetch tokens with it, so it must not end with the
	// search. A search that takes too long is therefore abandoned and not cancelled.
	type result struct {
		creds credentials.PerRPCCredentials
		err   error
	}
	found := make(chan result, 1)
	go func() {
		creds, err := oauth.NewApplicationDefault(context.Background(), cloudScope)
		found <- result{creds, err}
	}()
	timer := time.NewTimer(findTimeout)
	defer timer.Stop()
	select {
	case r := <-found:
		if r.err == nil {
			return r.creds
		}
		logger.Warningf("NewDefaultCredentialsWithOptions: failed to create application oauth: %v", r.err)
	case <-timer.C:
		logger.Warningf("NewDefaultCredentialsWithOptions: failed to create application oauth: not found within %v", findTimeout)
	}
	return nil
}

// NewComputeEngineCredentials returns a bundle like that of NewDefaultCredentials, but with the
// tokens of the machine's default service account. It works on Google Compute Engine only.
func NewComputeEngineCredentials() credentials.Bundle {
	return newBundle(oauth.NewComputeEngine())
}

// bundle is immutable.
type bundle struct {
	transport credentials.TransportCredentials
	perRPC    credentials.PerRPCCredentials // nil in the mode for balancers
	tokens    credentials.PerRPCCredentials // the per-RPC credentials for the other modes
}

func newBundle(perRPC credentials.PerRPCCredentials) credentials.Bundle {
	return &bundle{
		transport: newClusterCreds(credentials.NewTLS(nil), newALTS()),
		perRPC:    perRPC,
		tokens:    perRPC,
	}
}

func newALTS() credentials.TransportCredentials {
	return alts.NewClientCreds(alts.DefaultClientOptions())
}

// TransportCredentials implements credentials.Bundle.
func (b *bundle) TransportCredentials() credentials.TransportCredentials { return b.transport }

// PerRPCCredentials implements credentials.Bundle.
func (b *bundle) PerRPCCredentials() credentials.PerRPCCredentials { return b.perRPC }

// NewWithMode implements credentials.Bundle.
func (b *bundle) NewWithMode(mode string) (credentials.Bundle, error) {
	switch mode {
	case credsmode.Fallback:
		return newBundle(b.tokens), nil
	case credsmode.BackendFromBalancer:
		return &bundle{transport: newALTS(), perRPC: b.tokens, tokens: b.tokens}, nil
	case credsmode.Balancer:
		// The balancer gets no token, because the token is for the servers.
		return &bundle{transport: newALTS(), tokens: b.tokens}, nil
	}
	return nil, fmt.Errorf("unsupported mode: %v", mode)
}
