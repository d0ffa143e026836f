// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/keepalive"
)

// ageTimers end a connection because of its age, or because it is idle (gRFC A9). If neither is limited
// there are none.
type ageTimers struct {
	conn *h2.Conn
	cfg  *keepalive.ServerParameters

	mu      sync.Mutex
	stopped bool
	idle    *time.Timer
	age     *time.Timer
}

// agesOut reports whether connections have such timers.
func agesOut(k *keepalive.ServerParameters) bool {
	return k.MaxConnectionAge != infinity || k.MaxConnectionIdle != infinity
}

// start starts the timers, unless stop came first: a connection may be closed before it begins.
func (t *ageTimers) start() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return
	}
	if t.cfg.MaxConnectionAge != infinity {
		t.age = time.AfterFunc(jitter(t.cfg.MaxConnectionAge), t.aged)
	}
	if t.cfg.MaxConnectionIdle != infinity {
		t.idle = time.AfterFunc(t.cfg.MaxConnectionIdle, t.idled)
	}
}

// jitter spreads d by up to a tenth to either side, so that connections which
// began together do not all end together.
func jitter(d time.Duration) time.Duration {
	tenth := int64(d / 10)
	if tenth == 0 {
		return d
	}
	spread := time.Duration(rand.Int64N(2*tenth+1) - tenth)
	return d + min(spread, infinity-d) // a sum that wraps around would be over at once
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
	t.conn.Drain(frame.NoError, "max_age")
	t.mu.Lock()
	defer t.mu.Unlock()
	if grace := t.cfg.MaxConnectionAgeGrace; !t.stopped && grace != infinity {
		t.age = time.AfterFunc(grace, func() {
			t.conn.Close(errors.New("the connection was older than its maximum age and the grace time was over"))
		})
	}
}

// idled drains the connection if it has been idle, without a stream, for long enough. If not, the timer
// runs idled again when it may have been.
func (t *ageTimers) idled() {
	limit := t.cfg.MaxConnectionIdle
	left := limit
	if since, idle := t.conn.Idle(); idle {
		left = limit - since
	}
	if left <= 0 {
		t.conn.Drain(frame.NoError, "max_idle")
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.stopped {
		t.idle.Reset(left)
	}
}
