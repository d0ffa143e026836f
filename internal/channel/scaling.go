// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"
	"slices"

	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/scaling"
)

// reserve waits for a place for an RPC on one of the connections, and returns that connection, or
// nil if the subchannel has lost its last one. Link.release gives the place back. The error is
// ctx's.
func (sub *Subchannel) reserve(ctx context.Context, s *scale) (l *Link, waited bool, err error) {
	sub.mu.Lock()
	if sub.current == nil {
		sub.mu.Unlock()
		return nil, false, nil
	}
	if s.queue.Len() == 0 {
		if l := sub.takeLocked(s); l != nil {
			sub.mu.Unlock()
			return l, false, nil
		}
	}
	p := s.enqueue()
	sub.growLocked(s)
	sub.mu.Unlock()
	select {
	case l := <-p.given:
		return l, true, nil
	case <-doneEarly(ctx):
	}
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if s.withdraw(p) {
		return nil, true, ctx.Err()
	}
	if l := <-p.given; l != nil { // the RPC got a place just as ctx ended
		l.rpcs--
		sub.dispatchLocked()
	}
	return nil, true, ctx.Err()
}

// takeLocked takes a place on the oldest connection that has one, and returns that connection, or
// nil if none has a place.
func (sub *Subchannel) takeLocked(s *scale) *Link {
	if s.limit == scaling.Default && len(s.more) == 0 {
		// With one connection alone an RPC waits there: it knows sooner than the RPC's program that a stream is over.
		if sub.current.isUnfit() {
			return nil
		}
		sub.current.rpcs++
		return sub.current
	}
	if sub.current.take() {
		return sub.current
	}
	for _, l := range s.more {
		if l.take() {
			return l
		}
	}
	return nil
}

func (l *Link) take() bool {
	if l.isUnfit() {
		return false
	}
	if n := l.places.Load(); n != 0 && int64(l.rpcs) >= n-1 {
		return false
	}
	l.rpcs++
	return true
}

// dispatchLocked gives the free places to the RPCs that wait.
func (sub *Subchannel) dispatchLocked() {
	s := sub.scale.Load()
	if s == nil || sub.current == nil {
		return
	}
	for s.queue.Len() > 0 {
		l := sub.takeLocked(s)
		if l == nil {
			sub.growLocked(s)
			return
		}
		s.giveFirst(l)
	}
}

// enqueue adds an RPC to the queue.
func (s *scale) enqueue() *place {
	p := &place{given: make(chan *Link, 1)}
	p.at = s.queue.PushBack(p)
	return p
}

// withdraw removes p from the queue. It returns false if p has left the queue already: then p.given
// has a value, which may be nil.
func (s *scale) withdraw(p *place) bool {
	if p.at == nil {
		return false
	}
	s.queue.Remove(p.at)
	p.at = nil
	return true
}

// giveFirst gives l to the first RPC in the queue, which must not be empty.
func (s *scale) giveFirst(l *Link) {
	p := s.queue.Remove(s.queue.Front()).(*place)
	p.at = nil
	p.given <- l
}

// growLocked begins to make another connection for RPCs that wait. It does nothing if the limit is
// reached, a connection is being made, or the pause after a failure is not over.
func (sub *Subchannel) growLocked(s *scale) {
	if 1+len(s.more) < s.limit && sub.cancel == nil && !s.pausing {
		s.dialLocked()
	}
}

// addLocked adds l as the youngest connection of a subchannel that has a current one.
func (sub *Subchannel) addLocked(l *Link) {
	s := sub.scale.Load()
	s.more = append(s.more, l)
	sub.dispatchLocked()
}

// resumeLocked ends the pause after a failure to make another connection.
func (sub *Subchannel) resumeLocked() {
	if s := sub.scale.Load(); s != nil && s.pausing {
		s.pausing = false
		sub.dispatchLocked()
	}
}

// promoteLocked removes l from the subchannel's connections. If l was the current one, the oldest
// of the others becomes current. It returns false, and changes nothing, if l is the only one.
func (sub *Subchannel) promoteLocked(l *Link) bool {
	s := sub.scale.Load()
	if s == nil {
		return false
	}
	if i := slices.Index(s.more, l); i >= 0 {
		s.more = slices.Delete(s.more, i, i+1)
		sub.dispatchLocked()
		return true
	}
	if len(s.more) == 0 {
		return false
	}
	sub.current, sub.young = s.more[0], false // only the first connection is on probation
	s.more = slices.Delete(s.more, 0, 1)
	sub.exposeLocked()
	sub.moveHealthCheckLocked()
	sub.dispatchLocked()
	return true
}

// owns reports whether l is one of the subchannel's connections. The caller must hold mu.
func (sub *Subchannel) owns(l *Link) bool {
	if sub.current == l {
		return true
	}
	s := sub.scale.Load()
	return s != nil && slices.Contains(s.more, l)
}

// disbandLocked removes all connections but the current one, and returns them. RPCs that wait for a
// place then ask the picker again.
func (sub *Subchannel) disbandLocked() []*Link {
	s := sub.scale.Load()
	if s == nil {
		return nil
	}
	for s.queue.Len() > 0 {
		s.giveFirst(nil)
	}
	more := s.more
	s.more = nil
	return more
}

// stateWithoutLocked returns the state of a subchannel that has just lost its last connection:
// Connecting if it was making another, TransientFailure if it was backing off from that, otherwise
// Idle.
func (sub *Subchannel) stateWithoutLocked() (connectivity.State, error) {
	s := sub.scale.Load()
	switch {
	case s == nil:
	case sub.cancel != nil:
		return connectivity.Connecting, nil
	case s.pausing:
		s.pausing = false // pauseOver ends TransientFailure
		return connectivity.TransientFailure, sub.failure
	}
	return connectivity.Idle, nil
}

// hold counts an RPC that uses the connection even if there is no place for it.
func (l *Link) hold() {
	if l.sub.scale.Load() != nil {
		l.sub.mu.Lock()
		l.rpcs++
		l.sub.mu.Unlock()
	}
}

// release gives an RPC's place back. The attempt calls it once, when it ends.
func (l *Link) release() {
	if l.sub.scale.Load() == nil {
		return
	}
	l.sub.mu.Lock()
	l.rpcs--
	l.sub.dispatchLocked()
	l.sub.mu.Unlock()
}

// Places implements transport.ClientEvents. n is how many RPCs the server takes at a time.
func (l *Link) Places(n uint32) {
	l.places.Store(int64(n) + 1)
	if l.sub.scale.Load() != nil {
		l.sub.mu.Lock()
		l.sub.dispatchLocked()
		l.sub.mu.Unlock()
	}
}
