// SPDX-License-Identifier: Apache-2.0

// Package tokencache keeps a token that expires for all RPCs of a per-RPC credential, by the
// rules that gRFC A83 and gRFC A97 have in common: a token is fetched when an RPC needs it, a
// new one is fetched some time before the old one expires, and there is a pause after a failed
// fetch.
package tokencache

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/internal/backoff"
	"google.golang.org/grpc/status"
)

const (
	// Skew is subtracted from every expiry, because clocks may differ and because the server
	// needs time.
	Skew = 30 * time.Second
	// refreshAhead is how long before the end of a token's use an RPC starts to fetch the
	// next one. RPCs send the old one meanwhile, so that none of them waits.
	refreshAhead = time.Minute
	// MinLife is how long a token is kept at least: not every RPC must ask an issuer whose
	// tokens expire at once.
	MinLife = time.Second
)

// Token is a token and when it expires, as its issuer says.
type Token struct {
	Value  string
	Expiry time.Time
}

// usable reports whether the token may be sent at the time now.
func (t Token) usable(now time.Time) bool { return now.Before(t.Expiry.Add(-Skew)) }

// due reports whether the next token should be fetched at the time now.
func (t Token) due(now time.Time) bool { return now.Add(refreshAhead).After(t.Expiry.Add(-Skew)) }

// Cache fetches and keeps a token. Its methods are safe for concurrent use. It has a
// goroutine only while it fetches.
type Cache struct {
	fetch   func() (Token, error)
	backoff backoff.Strategy

	mu       sync.Mutex // guards the fields below
	token    Token
	pending  *attempt // nil if no fetch is under way
	err      error    // of the last fetch
	failures int      // since the last success
	retryAt  time.Time
	fetched  time.Time // when the token came
}

// attempt is one fetch. token and err are set before done is closed.
type attempt struct {
	done  chan struct{}
	token Token
	err   error
}

// New returns a Cache that gets tokens from fetch. Only one goroutine at a time calls fetch.
// fetch can't be cancelled, so it must bound its own time. RPCs fail with its errors, so these
// must be statuses.
func New(fetch func() (Token, error)) *Cache {
	return &Cache{fetch: fetch, backoff: backoff.Default}
}

// Get returns the token's value. If there is no usable token it waits for one. If ctx ends
// first, it returns the context's error as a status.
func (c *Cache) Get(ctx context.Context) (string, error) {
	value, wait, err := c.now()
	if wait == nil {
		return value, err
	}
	select {
	case <-wait.done:
		return wait.token.Value, wait.err
	case <-ctx.Done():
		return "", status.FromContextError(ctx.Err()).Err()
	}
}

// now returns the attempt to wait for. If it is nil, now returns the token's value or the error
// to fail with.
func (c *Cache) now() (string, *attempt, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	usable := c.token.usable(now) || now.Before(c.token.Expiry) && now.Sub(c.fetched) < MinLife
	expired := c.err == nil && !usable // the last fetch succeeded, and its token has expired since
	mayFetch := c.pending == nil && (expired || !now.Before(c.retryAt))
	if mayFetch && (!usable || c.token.due(now)) {
		c.pending = &attempt{done: make(chan struct{})}
		go c.run(c.pending)
	}
	switch {
	case usable:
		return c.token.Value, nil, nil
	case c.pending != nil:
		return "", c.pending, nil
	}
	return "", nil, c.err
}

func (c *Cache) run(a *attempt) {
	a.token, a.err = c.fetch()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = nil
	c.err = a.err
	if a.err != nil {
		c.retryAt = time.Now().Add(c.backoff.Backoff(c.failures))
		c.failures++
	} else {
		c.token, c.failures, c.fetched = a.token, 0, time.Now()
		c.retryAt = c.fetched.Add(MinLife)
	}
	close(a.done)
}
