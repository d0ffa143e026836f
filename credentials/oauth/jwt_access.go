// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"google.golang.org/grpc/credentials"
)

// maxAudiences bounds the tokens that a jwtAccess keeps. For a program that uses more
// services than that, all tokens are dropped when the bound is reached, and signed again.
const maxAudiences = 64

// jwtAccess signs its own tokens, one for each audience.
type jwtAccess struct {
	key []byte // JSON

	mu     sync.Mutex
	tokens map[string]oauth2.TokenSource // by audience
}

// NewJWTAccessFromKey returns credentials that do not fetch tokens, but sign a token for each
// service with a service account's key (https://google.aip.dev/auth/4111). jsonKey is that
// key, in JSON. The token's audience is "https://host/" of the service. A token expires after
// an hour, and is sent with all RPCs until shortly before that.
//
// NewJWTAccessFromKey copies the key and does not check it. The first RPC parses it: if it is
// malformed, RPCs fail.
func NewJWTAccessFromKey(jsonKey []byte) (credentials.PerRPCCredentials, error) {
	return &jwtAccess{key: append([]byte(nil), jsonKey...), tokens: make(map[string]oauth2.TokenSource)}, nil
}

// NewJWTAccessFromFile is NewJWTAccessFromKey with the key in a file, which it reads before
// it returns.
func NewJWTAccessFromFile(keyFile string) (credentials.PerRPCCredentials, error) {
	key, err := readKey(keyFile)
	if err != nil {
		return nil, err
	}
	return NewJWTAccessFromKey(key)
}

func readKey(path string) ([]byte, error) {
	key, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("credentials: failed to read the service account key file: %w", err)
	}
	return key, nil
}

func (j *jwtAccess) GetRequestMetadata(ctx context.Context, uri ...string) (map[string]string, error) {
	if len(uri) == 0 {
		return nil, errors.New("oauth: a token that is signed here needs the service's URI")
	}
	aud, err := audience(uri[0])
	if err != nil {
		return nil, err
	}
	source, err := j.source(aud)
	if err != nil {
		return nil, err
	}
	token, err := source.Token()
	if err != nil {
		return nil, err
	}
	return authorization(ctx, "jwtAccess", token)
}

func (*jwtAccess) RequireTransportSecurity() bool { return true }

// source returns the source that signs the tokens of one audience, and caches them.
func (j *jwtAccess) source(aud string) (oauth2.TokenSource, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if s := j.tokens[aud]; s != nil {
		return s, nil
	}
	s, err := google.JWTAccessTokenSourceFromJSON(j.key, aud)
	if err != nil {
		return nil, err
	}
	if len(j.tokens) >= maxAudiences {
		clear(j.tokens)
	}
	j.tokens[aud] = s
	return s, nil
}

// audience returns a service's URI without the service's name: AIP 4111 wants "https://host/".
func audience(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return "", err
	}
	u.Path, u.RawPath = "/", ""
	return u.String(), nil
}
