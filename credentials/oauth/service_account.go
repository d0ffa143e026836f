// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"context"
	"net/http"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"golang.org/x/oauth2/jwt"
	"google.golang.org/grpc/credentials"
)

// fetchTimeout bounds the request for a token. After it, a later RPC asks the token service
// again.
const fetchTimeout = 30 * time.Second

// serviceAccount signs assertions, and exchanges them for access tokens.
type serviceAccount struct {
	config *jwt.Config
	tokens shared
}

// NewServiceAccountFromKey returns credentials that use a service account's key to get access
// tokens from the token service that the key names. jsonKey is the key, in JSON. A token is
// used until shortly before it expires. RPCs then share one request for the next token, which
// fails after 30 seconds, and each waits for it until its own context ends. The request uses
// the HTTP client in the context of the RPC that starts it (oauth2.HTTPClient), if there is
// one; the 30 seconds don't apply then.
func NewServiceAccountFromKey(jsonKey []byte, scope ...string) (credentials.PerRPCCredentials, error) {
	config, err := google.JWTConfigFromJSON(jsonKey, scope...)
	if err != nil {
		return nil, err
	}
	s := &serviceAccount{config: config}
	s.tokens.ask = s.fetch
	return s, nil
}

// NewServiceAccountFromFile is NewServiceAccountFromKey with the key in a file, which it
// reads before it returns.
func NewServiceAccountFromFile(keyFile string, scope ...string) (credentials.PerRPCCredentials, error) {
	key, err := readKey(keyFile)
	if err != nil {
		return nil, err
	}
	return NewServiceAccountFromKey(key, scope...)
}

func (s *serviceAccount) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	token, err := s.tokens.current(ctx)
	if err != nil {
		return nil, err
	}
	return authorization(ctx, "serviceAccount", token)
}

func (*serviceAccount) RequireTransportSecurity() bool { return true }

// fetch asks the token service for a token. Package oauth2 does not end its request when ctx ends,
// so the HTTP client has a timeout.
func (s *serviceAccount) fetch(ctx context.Context) (*oauth2.Token, error) {
	if ctx.Value(oauth2.HTTPClient) == nil {
		ctx = context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Timeout: fetchTimeout})
	}
	return s.config.TokenSource(ctx).Token()
}
