// SPDX-License-Identifier: Apache-2.0

// Package sts has per-RPC credentials that exchange one token for another at a security
// token service (RFC 8693), and send the new token.
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
	"google.golang.org/grpc/status"
)

// minLifetime is how long a token must still be valid to be sent with another RPC: a server may
// take its time, and may pass the token on to other servers.
const minLifetime = 5 * time.Minute

// minKept is how long a token is sent at least, even if it expires sooner: not every RPC must ask a
// service whose tokens are short-lived.
const minKept = time.Second

// maxLifetime is for how long a token is valid at most, in seconds, whatever the service says: some 136 years. Much longer
// times are no time.Duration.
const maxLifetime = 1 << 32

// String returns all options, separated by colons. They contain no token.
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

// NewCredentials returns credentials that exchange tokens as opts say. An RPC that finds no
// usable token makes an exchange, which reads the files and ends when the RPC's context does,
// or after a minute.
// Other RPCs wait for it until their own contexts end. All RPCs send the new token until five
// minutes before it expires, or for a second if it expires sooner than that.
//
// If an exchange fails, the RPC that made it fails with the code that errors of credentials
// have, or, if its context has ended, with DEADLINE_EXCEEDED or CANCELLED, and the next RPC tries again. After ten failures in a row, RPCs within 0.1 s of the
// last failure make no exchange and fail with the same error.
//
// Tokens are sent to servers only over connections with privacy and integrity, such as TLS.
//
// NewCredentials returns an error if opts are invalid.
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
	turn chan struct{} // holds one element; the goroutine that has taken it owns the fields below

	header string // the last token, with its type
	came   time.Time
	// A token has ended where either clock says so: the monotonic one may stand still while the machine sleeps, and the
	// date may be set back.
	expires, ends time.Time // by the date, and by the monotonic clock
	pace          tokencache.Pace
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

// RequireTransportSecurity implements credentials.PerRPCCredentials. It returns true.
func (*callCreds) RequireTransportSecurity() bool { return true }

func (c *callCreds) current(ctx context.Context) (string, error) {
	select {
	case <-c.turn:
	case <-ctx.Done():
		return "", status.FromContextError(ctx.Err()).Err()
	}
	defer func() { c.turn <- struct{}{} }()
	if c.header != "" && (min(time.Until(c.expires), time.Until(c.ends)) > minLifetime || time.Since(c.came) < minKept) {
		return c.header, nil
	}
	if err := c.pace.Held(); err != nil {
		return "", err
	}
	got, err := exchange(ctx, c.opts)
	if err != nil && ctx.Err() != nil { // it may be the context's, not the service's
		return "", status.FromContextError(ctx.Err()).Err()
	}
	c.pace.Answered(err)
	if err != nil {
		return "", err
	}
	c.came = time.Now()
	c.header = got.TokenType + " " + got.AccessToken
	c.ends = c.came.Add(time.Duration(min(max(got.ExpiresIn, 0), maxLifetime)) * time.Second)
	c.expires = c.ends.Round(0)
	return c.header, nil
}
