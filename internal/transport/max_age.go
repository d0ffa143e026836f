// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

// ageTimers end a connection for its age, or for being idle, gRFC A9. Where
// neither is limited there are none.
type ageTimers struct {
	server *Server

	mu      sync.Mutex
	stopped bool
	idle    *time.Timer
	age     *time.Timer
}

func (s *Server) startAge() {
	k := &s.cfg.Keepalive
	if k.MaxConnectionAge == infinity && k.MaxConnectionIdle == infinity {
		return
	}
	t := &ageTimers{server: s}
	s.age = t
	t.mu.Lock()
	defer t.mu.Unlock()
	if k.MaxConnectionAge != infinity {
		t.age = time.AfterFunc(jitter(k.MaxConnectionAge), t.aged)
	}
	if k.MaxConnectionIdle != infinity {
		t.idle = time.AfterFunc(k.MaxConnectionIdle, t.idled)
	}
}

// jitter spreads d by up to a tenth to either side, so that connections which
// began together do not all end together.
func jitter(d time.Duration) time.Duration {
	tenth := int64(d / 10)
	if tenth == 0 {
		return d
	}
	return d + time.Duration(rand.Int64N(2*tenth+1)-tenth)
}

func (t *ageTimers) stop() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	for _, x := range []*time.Timer{t.idle, t.age} {
		if x != nil {
			x.Stop()
		}
	}
}

func (t *ageTimers) aged() {
	t.server.Drain("max_age")
	t.mu.Lock()
	defer t.mu.Unlock()
	if grace := t.server.cfg.Keepalive.MaxConnectionAgeGrace; !t.stopped && grace != infinity {
		t.age = time.AfterFunc(grace, func() {
			t.server.Close(errors.New("the connection was older than its maximum age and the grace time was over"))
		})
	}
}

// idled looks whether the connection has been idle for long enough, and if not
// comes back when it can have been.
func (t *ageTimers) idled() {
	limit := t.server.cfg.Keepalive.MaxConnectionIdle
	left := limit
	if since, idle := t.server.conn.Idle(); idle {
		left = limit - since
	}
	if left <= 0 {
		t.server.Drain("max_idle")
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.stopped {
		t.idle.Reset(left)
	}
}
