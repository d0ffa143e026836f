// SPDX-License-Identifier: Apache-2.0

// Package oauth has per-RPC credentials that send OAuth 2.0 access tokens (RFC 6750), on
// top of golang.org/x/oauth2: each RPC carries the token in its "authorization" metadata.
//
// Tokens travel only over connections with privacy and integrity, such as TLS: channels
// without transport security refuse these credentials, and an RPC whose connection turns out
// to be weaker fails with codes.Unauthenticated, as it does when no token can be had.
package oauth

import (
	"context"
	"errors"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"google.golang.org/grpc/credentials"
)

// TokenSource sends the tokens of an oauth2.TokenSource, which is asked for each RPC: one
// that does not keep its tokens goes through oauth2.ReuseTokenSource first, and one that
// fails is asked as often as RPCs are made, so that it should bound how often it asks others.
// The source must be safe for concurrent use. It knows nothing of an RPC's deadline, so it
// should bound how long it takes itself.
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

// token waits no longer than the RPC may for the sources that this package makes.
func (ts TokenSource) token(ctx context.Context) (*oauth2.Token, error) {
	if s, ok := ts.TokenSource.(*shared); ok {
		return s.current(ctx)
	}
	return ts.Token()
}

// keeping makes a source, which keeps its tokens, ask no more often than it has to.
func keeping(source oauth2.TokenSource) TokenSource {
	return TokenSource{&shared{ask: func(context.Context) (*oauth2.Token, error) { return source.Token() }, keeps: true}}
}

// RequireTransportSecurity implements credentials.PerRPCCredentials: it is true.
func (ts TokenSource) RequireTransportSecurity() bool { return true }

// oauthAccess sends one token for ever.
type oauthAccess struct{ token oauth2.Token }

// NewOauthAccess returns credentials that send a copy of one token, even when it has
// expired. A nil token fails every RPC.
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

// NewComputeEngine returns credentials that send the tokens of the machine's default service
// account, which Google Compute Engine's metadata server hands out. They work on Compute
// Engine only, and keep a token until shortly before it expires.
func NewComputeEngine() credentials.PerRPCCredentials {
	return keeping(google.ComputeTokenSource(""))
}

// NewApplicationDefault returns the credentials that Google Cloud's "Application Default
// Credentials" find: the JSON file that GOOGLE_APPLICATION_CREDENTIALS names, that of the
// gcloud command, or the machine's metadata server. ctx is used for as long as tokens are
// fetched: it must outlive the credentials, and may bring an HTTP client (oauth2.HTTPClient).
//
// A service account's key without scopes signs a token for each service on its own
// (https://google.aip.dev/auth/4111), and asks nobody.
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
