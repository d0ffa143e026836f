// SPDX-License-Identifier: Apache-2.0

// Package tokencache keeps a token that expires for all RPCs of a per-RPC credential, by the
// rules that gRFC A83 and gRFC A97 have in common: it is fetched when an RPC needs it, anew
// a while before it expires, and not too often when that fails.
package tokencache

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/internal/backoff"
	"google.golang.org/grpc/status"
)

const (
	// Skew is taken off every expiry, for clocks that don't agree and for the time that
	// the server needs.
	Skew = 30 * time.Second
	// refreshAhead is when RPCs begin to have the next token fetched, while they still
	// send the old one: none of them has to wait then.
	refreshAhead = time.Minute
	// MinLife is how long a token is kept at least: an issuer whose tokens are to expire at once
	// must not be asked by every RPC.
	MinLife = time.Second
)

// Token is a token and when it expires, as its issuer says.
type Token struct {
	Value  string
	Expiry time.Time
}

// usable reports whether the token can be sent at a time.
func (t Token) usable(now time.Time) bool { return now.Before(t.Expiry.Add(-Skew)) }

// due reports whether the next one is to be fetched.
func (t Token) due(now time.Time) bool { return now.Add(refreshAhead).After(t.Expiry.Add(-Skew)) }

// Cache fetches and keeps a token. Its methods are safe for concurrent use. It has a
// goroutine only while it fetches.
type Cache struct {
	fetch   func() (Token, error)
	backoff backoff.Strategy

	mu       sync.Mutex // guards what follows
	token    Token
	pending  *attempt // nil if no fetch is under way
	err      error    // of the last fetch
	failures int      // since the last success
	retryAt  time.Time
	fetched  time.Time // when the token came
}

// attempt is one fetch. The fields are set before done is closed.
type attempt struct {
	done  chan struct{}
	token Token
	err   error
}

// New returns a Cache that gets tokens from fetch, which is called by one goroutine at a
// time and has to end by itself. Its errors are those of RPCs: statuses.
func New(fetch func() (Token, error)) *Cache {
	return &Cache{fetch: fetch, backoff: backoff.Default}
}

// Get returns the token's value. It waits for one if there is none, until the context
// ends: then the error is the context's, as a status.
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

// now returns what to send or fail with at once, or else the attempt to wait for.
func (c *Cache) now() (string, *attempt, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	usable := c.token.usable(now) || now.Before(c.token.Expiry) && now.Sub(c.fetched) < MinLife
	expired := c.err == nil && !usable // since it came
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
