// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"
	"slices"

	"google.golang.org/grpc/connectivity"
)

// reserve returns the connection that an RPC is to use, once there is a place for it; nil if
// there is no connection any more. The link's release gives the place back. The error is ctx's.
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
	case <-ctx.Done():
	}
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if s.withdraw(p) {
		return nil, true, ctx.Err()
	}
	if l := <-p.given; l != nil { // meanwhile
		l.rpcs--
		sub.dispatchLocked()
	}
	return nil, true, ctx.Err()
}

// takeLocked takes a place on the oldest connection that has one; nil if none has.
func (sub *Subchannel) takeLocked(s *scale) *Link {
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
	if n := l.places.Load(); n != 0 && int64(l.rpcs) >= n-1 {
		return false
	}
	l.rpcs++
	return true
}

// dispatchLocked gives RPCs that wait what places there are.
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

// enqueue adds an RPC to those that wait.
func (s *scale) enqueue() *place {
	p := &place{given: make(chan *Link, 1)}
	p.at = s.queue.PushBack(p)
	return p
}

// withdraw takes back a wait that was given up. It returns false if p was given something.
func (s *scale) withdraw(p *place) bool {
	if p.at == nil {
		return false
	}
	s.queue.Remove(p.at)
	p.at = nil
	return true
}

// giveFirst gives l to the first RPC that waits, which there is.
func (s *scale) giveFirst(l *Link) {
	p := s.queue.Remove(s.queue.Front()).(*place)
	p.at = nil
	p.given <- l
}

// growLocked begins to make another connection, for RPCs that wait, unless there are as many
// as may be, one is being made, or the pause after a failure is not over.
func (sub *Subchannel) growLocked(s *scale) {
	if 1+len(s.more) < s.limit && sub.cancel == nil && !s.pausing {
		s.dialLocked()
	}
}

// addLocked makes l the youngest connection of a subchannel that has one.
func (sub *Subchannel) addLocked(l *Link) {
	s := sub.scale.Load()
	s.more = append(s.more, l)
	sub.dispatchLocked()
}

// resumeLocked follows the pause after a failure to make another connection.
func (sub *Subchannel) resumeLocked() {
	if s := sub.scale.Load(); s != nil && s.pausing {
		s.pausing = false
		sub.dispatchLocked()
	}
}

// promoteLocked takes l, one of the subchannel's connections, away from it, and makes the
// oldest of the others the current one. It returns false if there is no other, and l is the
// current one.
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
	sub.current = s.more[0]
	s.more = slices.Delete(s.more, 0, 1)
	if sub.state == connectivity.Ready {
		sub.ready.Store(sub.current)
	}
	sub.moveHealthCheckLocked()
	sub.dispatchLocked()
	return true
}

// owns says that l is one of the subchannel's connections. mu is held.
func (sub *Subchannel) owns(l *Link) bool {
	if sub.current == l {
		return true
	}
	s := sub.scale.Load()
	return s != nil && slices.Contains(s.more, l)
}

// disbandLocked takes all connections but the current one away, and returns them. RPCs that
// wait for a place ask the picker again.
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

// stateWithoutLocked is the state of a subchannel that has lost its last connection: Idle,
// or that of an attempt to make another.
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

// hold counts an RPC that uses the connection whether there is a place or not.
func (l *Link) hold() {
	if l.sub.scale.Load() != nil {
		l.sub.mu.Lock()
		l.rpcs++
		l.sub.mu.Unlock()
	}
}

// release is called once for each RPC that had the connection, when it is over.
func (l *Link) release() {
	if l.sub.scale.Load() == nil {
		return
	}
	l.sub.mu.Lock()
	l.rpcs = max(l.rpcs-1, 0) // an RPC from before there was a limit may not have been counted
	l.sub.dispatchLocked()
	l.sub.mu.Unlock()
}

// Places implements transport.ClientEvents: it is how many RPCs the server takes at a time.
func (l *Link) Places(n uint32) {
	l.places.Store(int64(n) + 1)
	if l.sub.scale.Load() != nil {
		l.sub.mu.Lock()
		l.sub.dispatchLocked()
		l.sub.mu.Unlock()
	}
}
