// SPDX-License-Identifier: Apache-2.0

// Package oauth has per-RPC credentials that send OAuth 2.0 access tokens (RFC 6750), on
// top of golang.org/x/oauth2: each RPC carries the token in its "authorization" metadata.
//
// Tokens travel only over connections with privacy and integrity, such as TLS: making a
// channel with these credentials and without transport security fails. If these are the
// channel's credentials, a connection that turns out to be weaker is given up, so that RPCs
// fail with codes.Unavailable, and an RPC for which no token can be obtained fails with
// codes.Unauthenticated. If they are those of one RPC, it fails with codes.Unauthenticated
// on a weaker connection, and with codes.Internal without a token. An RPC whose context ends
// while a token is fetched fails with codes.DeadlineExceeded or codes.Canceled.
package oauth

import (
	"context"
	"errors"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"google.golang.org/grpc/credentials"
)

// TokenSource sends the tokens of an oauth2.TokenSource, whose Token method is called for
// each RPC. Wrap a source that does not cache its tokens in oauth2.ReuseTokenSource. Each RPC
// also calls a source that fails, so the source should itself limit how often it asks an
// issuer. The source must be safe for concurrent use. Token is not told of an RPC's deadline,
// so the source should itself limit how long Token takes.
type TokenSource struct {
	oauth2.TokenSource
}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (ts TokenSource) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	if ts.TokenSource == nil {
		return nil, errors.New("oauth: TokenSource without a source")
	}
	token, err := ts.token(ctx)
	if err != nil {
		return nil, err
	}
	return authorization(ctx, "TokenSource", token)
}

// token returns the source's token. With a source that this package made, it returns at the
// latest when ctx ends; other sources can't be told of ctx.
func (ts TokenSource) token(ctx context.Context) (*oauth2.Token, error) {
	if s, ok := ts.TokenSource.(*shared); ok {
		return s.current(ctx)
	}
	return ts.Token()
}

// keeping returns a TokenSource for a source that caches its tokens. RPCs share the calls of
// that source, and a source that fails at once is called less often than RPCs are made.
func keeping(source oauth2.TokenSource) TokenSource {
	return TokenSource{&shared{ask: func(context.Context) (*oauth2.Token, error) { return source.Token() }, keeps: true}}
}

// RequireTransportSecurity implements credentials.PerRPCCredentials. It returns true.
func (ts TokenSource) RequireTransportSecurity() bool { return true }

// oauthAccess sends the same token with every RPC.
type oauthAccess struct{ token oauth2.Token }

// NewOauthAccess returns credentials that send a copy of token, even when it has
// expired. With a nil token every RPC fails.
//
// Deprecated: use a [TokenSource], with oauth2.StaticTokenSource.
func NewOauthAccess(token *oauth2.Token) credentials.PerRPCCredentials {
	if token == nil {
		return TokenSource{}
	}
	return oauthAccess{token: *token}
}

func (oa oauthAccess) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	return authorization(ctx, "oauthAccess", &oa.token)
}

func (oauthAccess) RequireTransportSecurity() bool { return true }

// NewComputeEngine returns credentials that fetch access tokens of the machine's default
// service account from Google Compute Engine's metadata server, and send them. They work on
// Compute Engine only. They send the same token until shortly before it expires.
func NewComputeEngine() credentials.PerRPCCredentials {
	return keeping(google.ComputeTokenSource(""))
}

// NewApplicationDefault returns the credentials that Google Cloud's "Application Default
// Credentials" find: the JSON file that GOOGLE_APPLICATION_CREDENTIALS names, the JSON file of
// the gcloud command, or the machine's metadata server. ctx is used whenever a token is
// fetched, so it must not end before the credentials are no longer used. It may hold an HTTP
// client (oauth2.HTTPClient).
//
// If the file has a service account's key and there are no scopes, the credentials are those
// of [NewJWTAccessFromKey]: they sign a token for each service, and fetch none.
func NewApplicationDefault(ctx context.Context, scope ...string) (credentials.PerRPCCredentials, error) {
	found, err := google.FindDefaultCredentials(ctx, scope...)
	if err != nil {
		return nil, err
	}
	if len(scope) > 0 || len(found.JSON) == 0 {
		return keeping(found.TokenSource), nil
	}
	// Keys of other kinds, such as a user's, can't sign.
	if _, err := google.JWTConfigFromJSON(found.JSON); err != nil {
		return keeping(found.TokenSource), nil //nolint:nilerr // it is another kind of key
	}
	return NewJWTAccessFromKey(found.JSON)
}
