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

// fetchTimeout bounds the request for a token: the token service is asked again by an RPC
// that comes later.
const fetchTimeout = 30 * time.Second

// serviceAccount exchanges what it signs for access tokens.
type serviceAccount struct {
	config *jwt.Config
	tokens shared
}

// NewServiceAccountFromKey returns credentials that get access tokens with a service
// account's key, in JSON, from the token service that the key names. A token is used until
// shortly before it expires. RPCs wait for the next one as long as their own contexts allow,
// and the request for it, which they share, gives up after 30 seconds. The HTTP client is
// that of the first RPC's context (oauth2.HTTPClient), if it has one.
func NewServiceAccountFromKey(jsonKey []byte, scope ...string) (credentials.PerRPCCredentials, error) {
	config, err := google.JWTConfigFromJSON(jsonKey, scope...)
	if err != nil {
		return nil, err
	}
	s := &serviceAccount{config: config}
	s.tokens.ask = s.fetch
	return s, nil
}

// NewServiceAccountFromFile is NewServiceAccountFromKey with a key that is in a file, read
// at once.
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

// fetch asks the token service. Package oauth2 does not end a request with its context, but by the
// client's timeout.
func (s *serviceAccount) fetch(ctx context.Context) (*oauth2.Token, error) {
	if ctx.Value(oauth2.HTTPClient) == nil {
		ctx = context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Timeout: fetchTimeout})
	}
	return s.config.TokenSource(ctx).Token()
}
