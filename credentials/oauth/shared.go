// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"context"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"google.golang.org/grpc/internal/tokencache"
)

// shared asks an issuer for the tokens of all RPCs of a credential: those that need one at the same
// time share the request for it, and wait no longer than they may. An issuer that fails at once is
// not asked by each RPC.
type shared struct {
	ask func(context.Context) (*oauth2.Token, error) // immutable
	// keeps says that ask returns the same token for as long as it may be used.
	keeps bool

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

// Token implements oauth2.TokenSource.
func (s *shared) Token() (*oauth2.Token, error) { return s.current(context.Background()) }

// current returns a token that is valid, and waits for one if there is none.
func (s *shared) current(ctx context.Context) (*oauth2.Token, error) {
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
	r.token, r.err = s.ask(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token, s.pending, s.came = r.token, nil, time.Now()
	s.pace.Answered(r.err)
	close(r.done)
}
