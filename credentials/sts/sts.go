// SPDX-License-Identifier: Apache-2.0

// Package sts has per-RPC credentials that exchange one token for another with a security
// token service (RFC 8693), and send the one they get.
//
// Experimental: this API may change in a later release.
package sts

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/tokencache"
)

// minLifetime is how long a token has to be good for to be sent again: servers may pass it
// on, and take their time.
const minLifetime = 5 * time.Minute

// minKept is how long a token is sent at least, though it is to expire sooner than that: a service
// whose tokens are short-lived must not be asked by every RPC.
const minKept = time.Second

// String returns all options, with a colon between them. There is no token in them.
func (o Options) String() string {
	return strings.Join([]string{
		o.TokenExchangeServiceURI, o.Resource, o.Audience, o.Scope, o.RequestedTokenType,
		o.SubjectTokenPath, o.SubjectTokenType, o.ActorTokenPath, o.ActorTokenType,
	}, ":")
}

func (o Options) check() error {
	if o.TokenExchangeServiceURI == "" {
		return errors.New("empty token_exchange_service_uri in options")
	}
	u, err := url.Parse(o.TokenExchangeServiceURI)
	switch {
	case err != nil:
		return err
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("scheme is not supported: %q. Only http(s) is supported", u.Scheme)
	case o.SubjectTokenPath == "":
		return errors.New("required field SubjectTokenPath is not specified")
	case o.SubjectTokenType == "":
		return errors.New("required field SubjectTokenType is not specified")
	}
	return nil
}

// NewCredentials returns credentials that exchange tokens as opts say. The files are read
// for each exchange. One takes place when an RPC needs a token, with the RPC's context, while
// others wait for it as long as theirs allow; the new token serves all RPCs until five minutes
// before it expires, or for a second if it is to expire sooner. An RPC that has to exchange tokens, and can't, fails with the code that
// errors of credentials have; the next one tries again; after ten failures in
// a row those within 0.1 s of the last one fail as it did.
//
// Tokens are sent to servers only over connections with privacy and integrity, such as TLS.
//
// The error is about opts.
func NewCredentials(opts Options) (credentials.PerRPCCredentials, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	c := &callCreds{opts: opts, turn: make(chan struct{}, 1)}
	c.turn <- struct{}{}
	return c, nil
}

type callCreds struct {
	opts Options
	turn chan struct{} // holds one element; who took it owns what follows

	header string // the last token, with its type
	came   time.Time
	expiry time.Time
	pace   tokencache.Pace
}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (c *callCreds) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	ri, _ := credentials.RequestInfoFromContext(ctx)
	if err := credentials.CheckSecurityLevel(ri.AuthInfo, credentials.PrivacyAndIntegrity); err != nil {
		return nil, fmt.Errorf("unable to transfer STS PerRPCCredentials: %w", err)
	}
	header, err := c.current(ctx)
	if err != nil {
		return nil, err
	}
	return map[string]string{"Authorization": header}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials: it is true.
func (*callCreds) RequireTransportSecurity() bool { return true }

func (c *callCreds) current(ctx context.Context) (string, error) {
	select {
	case <-c.turn:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	defer func() { c.turn <- struct{}{} }()
	if c.header != "" && (time.Until(c.expiry) > minLifetime || time.Since(c.came) < minKept) {
		return c.header, nil
	}
	if err := c.pace.Held(); err != nil {
		return "", err
	}
	got, err := exchange(ctx, c.opts)
	if ctx.Err() == nil { // else it says nothing of the service
		c.pace.Answered(err)
	}
	if err != nil {
		return "", err
	}
	c.came = time.Now()
	c.header = got.TokenType + " " + got.AccessToken
	c.expiry = time.Now().Add(time.Duration(got.ExpiresIn) * time.Second)
	return c.header, nil
}
