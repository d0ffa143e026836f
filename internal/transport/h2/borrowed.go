// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/mem"
)

// Borrowed is a piece of a message in memory that belongs to the program. The program has it back when
// Stream.Reclaim returns. Until then any holder of a reference may read it.
//
// A Borrowed never waits for the peer. If the socket has no room for a parcel, its borrowed pieces are
// copied (protocol.Parcel.Keep). When the program reclaims the memory, the pieces that are still queued
// are copied.
type Borrowed struct {
	mem.SliceBuffer
	refs atomic.Int32 // the lender's among them
	// inUse is locked from the beginning until no reference is left. (A channel would be one allocation
	// more, and a WaitGroup must not be used both inside and outside of a synctest bubble.)
	inUse sync.Mutex
}

// Borrow returns b with two references: one for the message, and one for the lender, which gives it up
// by calling Reclaim.
func Borrow(b []byte) *Borrowed {
	raceRead(b)
	l := &Borrowed{SliceBuffer: b}
	l.refs.Store(2)
	l.inUse.Lock()
	return l
}

// Ref implements mem.Buffer.
func (b *Borrowed) Ref() { b.refs.Add(1) }

// Free implements mem.Buffer.
func (b *Borrowed) Free() {
	if b.refs.Add(-1) == 0 {
		b.inUse.Unlock()
	}
}

// IsBorrowed implements protocol.Borrowed.
func (b *Borrowed) IsBorrowed() {}

// Slice implements mem.Buffer. It copies, because a part has no reference count of its own.
func (b *Borrowed) Slice(start, end int) mem.Buffer {
	return mem.Copy(b.SliceBuffer[start:end], nil)
}

// Reclaim gives up the lender's reference, and returns when nobody reads the memory any more. s is the
// stream on which the message was sent. Reclaim waits while the peer takes the message so fast that a
// copy would not pay, but no longer than until done is closed. Then it copies what is left.
func (s *Stream) Reclaim(b *Borrowed, done <-chan struct{}) {
	if b.refs.Load() > 1 {
		s.awaitSent(done)
		c := s.conn.lock()
		c.core.KeepBorrowed(&s.core, b)
		c.unlock()
	}
	b.Free()
	b.inUse.Lock() // whoever still holds a parcel with it is in a write that does not wait
	raceRead(b.SliceBuffer)
	b.inUse.Unlock()
}

// The lender of a message waits for another lentWait if at least leastSent bytes were sent during the
// last one. To copy that many takes about a hundredth of lentWait.
const (
	lentWait  = 2 * time.Millisecond
	leastSent = 256 << 10
)

// awaitSent waits until s is not full any more, until sending becomes slow, or until done is closed.
func (s *Stream) awaitSent(done <-chan struct{}) {
	waiting, room := s.lentRoom()
	if room == nil {
		return
	}
	timer := time.NewTimer(lentWait)
	defer timer.Stop()
	for room != nil {
		select {
		case <-room:
			return
		case <-done:
			return
		case <-timer.C:
		}
		before := waiting
		waiting, room = s.lentRoom()
		if before-waiting < leastSent {
			return
		}
		timer.Reset(lentWait)
	}
}

// lentRoom returns how many bytes wait on s, and a channel that is closed when there is room for more.
// The channel is nil if there is room already.
func (s *Stream) lentRoom() (waiting int, room <-chan struct{}) {
	c := s.conn.lock()
	defer c.unlock()
	if !c.core.Full(&s.core) {
		return 0, nil
	}
	return s.core.Unsent(), c.core.AwaitRoom(&s.core, newGate).(gate)
}
