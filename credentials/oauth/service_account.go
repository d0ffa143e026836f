// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"context"
	"net/http"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"golang.org/x/oauth2/jwt"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/tokencache"
)

// fetchTimeout bounds the request for a token: the token service is asked again by an RPC
// that comes later.
const fetchTimeout = 30 * time.Second

// serviceAccount exchanges what it signs for access tokens. RPCs that need one at the same
// time share the request for it.
type serviceAccount struct {
	config *jwt.Config

	mu      sync.Mutex // guards what follows
	token   *oauth2.Token
	pending *request // nil if no request is under way
	came    time.Time
	pace    tokencache.Pace
}

// request is one for a token. The fields are set before done is closed.
type request struct {
	done  chan struct{}
	token *oauth2.Token
	err   error
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
	return &serviceAccount{config: config}, nil
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
	token, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	return authorization(ctx, "serviceAccount", token)
}

func (*serviceAccount) RequireTransportSecurity() bool { return true }

// current returns a token that is valid, and waits for one if there is none.
func (s *serviceAccount) current(ctx context.Context) (*oauth2.Token, error) {
	token, r := s.tokenOrRequest(ctx)
	if r == nil {
		return token, nil
	}
	select {
	case <-r.done:
		return r.token, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *serviceAccount) tokenOrRequest(ctx context.Context) (*oauth2.Token, *request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token.Valid() || s.token != nil && time.Since(s.came) < tokencache.MinLife {
		return s.token, nil
	}
	if err := s.pace.Held(); err != nil {
		done := make(chan struct{})
		close(done)
		return nil, &request{done: done, err: err}
	}
	if s.pending == nil {
		s.pending = &request{done: make(chan struct{})}
		go s.fetch(context.WithoutCancel(ctx), s.pending)
	}
	return nil, s.pending
}

// fetch does r. Package oauth2 does not end a request with its context, but by the client's
// timeout.
func (s *serviceAccount) fetch(ctx context.Context, r *request) {
	if ctx.Value(oauth2.HTTPClient) == nil {
		ctx = context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Timeout: fetchTimeout})
	}
	r.token, r.err = s.config.TokenSource(ctx).Token()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token, s.pending, s.came = r.token, nil, time.Now()
	s.pace.Answered(r.err)
	close(r.done)
}
