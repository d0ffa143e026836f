// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc/internal/backoff"
	"google.golang.org/grpc/internal/xds/bootstrap"
)

// serverLocked returns the server for a configuration. It makes the server if it is not in use
// yet.
func (c *Client) serverLocked(config *bootstrap.Server) *server {
	if s, ok := c.servers[config.Key()]; ok {
		return s
	}
	s := &server{
		client: c, config: config, users: make(map[user]struct{}), subs: make(map[string]*subscription),
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.dial = sync.OnceValues(func() (Transport, error) { return c.config.Dial(config) })
	c.servers[config.Key()] = s
	c.running.Add(1)
	go s.run()
	return s
}

// releaseLocked stops the server and removes it if nothing uses it any more.
func (s *server) releaseLocked() {
	if len(s.users) > 0 || s.loads != nil {
		return
	}
	delete(s.client.servers, s.config.Key())
	s.stopLocked()
}

func (s *server) stopLocked() {
	s.stop()
	s.stream = nil
	if s.loads != nil {
		s.loads.cancel()
	}
}

// connectionBackoff is the backoff of connections (grpc/doc/connection-backoff.md), as A57
// requires.
func connectionBackoff(failures int) time.Duration { return backoff.Default.Backoff(failures) }

// minStream is the least time between the starts of two streams. Without it a control plane
// that ends each stream after its first response would keep the client busy.
const minStream = time.Second

// run keeps an ADS stream open.
func (s *server) run() {
	defer s.client.running.Done()
	transport, err := s.dial()
	failures := 0
	for s.ctx.Err() == nil {
		begin, answered := time.Now(), false
		if err == nil {
			answered, err = s.serve(transport)
		}
		if s.ctx.Err() != nil {
			break
		}
		s.down(err, answered)
		pause := minStream - time.Since(begin)
		if answered {
			failures = 0
		} else {
			pause = s.client.config.Backoff(failures)
			failures++
		}
		if transport != nil {
			err = nil
		}
		backoff.Wait(s.ctx, pause)
	}
	if transport != nil {
		transport.Close()
	}
}

// serve opens a stream and reads it until it ends. answered reports whether there was a
// response.
func (s *server) serve(t Transport) (answered bool, err error) {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	stream, err := t.NewStream(ctx, adsMethod)
	if err != nil {
		return false, err
	}
	s.up(stream, cancel)
	for {
		if err := s.receive(ctx, stream); err != nil {
			return answered, err
		}
		answered = true
	}
}

// up requests all resources on a new stream.
func (s *server) up(stream Stream, cancel context.CancelFunc) {
	s.client.mu.Lock()
	defer s.client.mu.Unlock()
	if s.ctx.Err() != nil {
		return
	}
	s.stream, s.cancel, s.sending = stream, cancel, false
	s.worked = s.worked || s.failure == nil // A78: the first stream counts before its first response
	for _, sub := range s.subs {
		sub.nonce, sub.nack, sub.asked = "", nil, false
		sub.reading, sub.fresh, sub.owed, sub.late, sub.last, sub.dropped = false, nil, false, nil, nil, nil
		sub.dirty = len(sub.entries) > 0
		for _, e := range sub.entries {
			e.doubt()
		}
	}
	s.kickLocked()
}

// isLost reports whether the server can't be reached: the last stream has ended without a response, and no other has
// begun (A57). One that has begun may have nothing to say, as the client has all versions.
func (s *server) isLost() bool { return s.failure != nil && s.stream == nil }

// askAnewLocked ends the stream if the first request for a type had a version, and has had no response, and the client
// has meanwhile got a resource of the type from a fallback (A71): the server believes that the client has its own.
// The next stream asks without a version.
func (s *server) askAnewLocked() {
	for _, sub := range s.subs {
		if s.cancel != nil && sub.asked && sub.nonce == "" && sub.version != "" && sub.replaced(s) {
			s.cancel()
			return
		}
	}
}

// down handles the end of a stream, or the failure to open one.
func (s *server) down(err error, answered bool) {
	c := s.client
	c.mu.Lock()
	stopped := s.downLocked(err, answered)
	c.mu.Unlock()
	if stopped && c.config.Metrics != nil {
		c.config.Metrics.ServerFailure(s.config.URI)
	}
}

// downLocked reports whether the server has become unhealthy (gRFC A78). It begins healthy: the first failure counts
// though nothing has worked.
func (s *server) downLocked(err error, answered bool) (stopped bool) {
	c := s.client
	s.stream, s.cancel = nil, nil
	for _, sub := range s.subs {
		for _, e := range sub.entries {
			if e.timerFrom == s { // the next stream starts it again
				e.stopTimer()
			}
		}
	}
	for u := range s.users {
		u.awaitLocked()
	}
	if answered { // A57: a control plane may end a stream
		c.logf("%v ended the stream: %v", s.config, err)
		return false
	}
	stopped, s.worked = s.failure == nil, false
	if err == nil {
		err = errors.New("no stream")
	}
	c.warnf("%v can't be reached: %v", s.config, err)
	s.failure = err
	for u := range s.users {
		u.failedLocked()
	}
	return stopped
}
