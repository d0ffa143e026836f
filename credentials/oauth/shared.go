// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"google.golang.org/grpc/internal/tokencache"
	"google.golang.org/grpc/status"
)

// shared asks an issuer for the tokens of all RPCs of a credential. RPCs that need a token at the
// same time share one request, and each waits for it until its own context ends. Pace bounds how
// often RPCs ask an issuer that fails at once.
type shared struct {
	ask func(context.Context) (*oauth2.Token, error) // immutable
	// keeps says that ask itself caches: it returns the same token for as long as that may be used.
	keeps bool

	mu      sync.Mutex // guards the fields below
	token   *oauth2.Token
	pending *request // nil if no request is under way
	came    time.Time
	pace    tokencache.Pace
}

// request is a request for a token. The other fields are set before done is closed.
type request struct {
	done     chan struct{}
	token    *oauth2.Token
	err      error
	panicked any // nil: it did not panic
}

// errUnreturned is the error of a request during which code of the program panicked or called runtime.Goexit.
var errUnreturned = errors.New("oauth: the request for a token exited without a result")

// Token implements oauth2.TokenSource.
func (s *shared) Token() (*oauth2.Token, error) { return s.current(context.Background()) }

// current returns a valid token. If there is none it requests one, and waits until ctx ends. A panic of code of the
// program, such as of its HTTP client, goes on in each RPC that waits, which the program may recover from.
func (s *shared) current(ctx context.Context) (*oauth2.Token, error) {
	token, r := s.tokenOrRequest(ctx)
	if r == nil {
		return token, nil
	}
	select {
	case <-r.done:
		if r.panicked != nil {
			panic(r.panicked)
		}
		return r.token, r.err
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

func (s *shared) tokenOrRequest(ctx context.Context) (*oauth2.Token, *request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token != nil && time.Since(s.came) < tokencache.MinLife || !s.keeps && s.token.Valid() {
		return s.token, nil
	}
	if err := s.pace.Held(); err != nil {
		done := make(chan struct{})
		close(done)
		return nil, &request{done: done, err: err}
	}
	if s.pending == nil {
		s.pending = &request{done: make(chan struct{})}
		go s.do(context.WithoutCancel(ctx), s.pending)
	}
	return nil, s.pending
}

func (s *shared) do(ctx context.Context, r *request) {
	r.err = errUnreturned
	defer func() { // also if ask panics or calls runtime.Goexit
		r.panicked = recover()
		s.answered(r)
	}()
	r.token, r.err = s.ask(ctx)
}

func (s *shared) answered(r *request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token, s.pending, s.came = r.token, nil, time.Now()
	s.pace.Answered(r.err)
	close(r.done)
}
