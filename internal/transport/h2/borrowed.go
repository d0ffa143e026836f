// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/mem"
)

// Borrowed is a piece of a message in memory of the program's, which has it back when
// Stream.Reclaim returns. Until then any holder of a reference may read it.
//
// It never waits for the peer: a parcel that the socket has no room for copies what it has
// borrowed (protocol.Parcel.Keep), and so does the queue when the memory is reclaimed.
type Borrowed struct {
	mem.SliceBuffer
	refs atomic.Int32 // the lender's among them
	// inUse is locked from the beginning until there are none. (A channel would be an allocation more, and
	// a WaitGroup must not be used within a synctest bubble and without.)
	inUse sync.Mutex
}

// Borrow returns b with two references: one for the message, and one for the lender, who gives it up
// with Reclaim.
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

// Slice implements mem.Buffer. It copies: a part has no count of its own.
func (b *Borrowed) Slice(start, end int) mem.Buffer {
	return mem.Copy(b.SliceBuffer[start:end], nil)
}

// Reclaim gives up the lender's reference, and returns when nobody reads the memory any more. s is the
// stream that the message was sent on. It waits, until done is closed, while the peer takes the message
// faster than it could be copied again and again, and copies what then is left.
func (s *Stream) Reclaim(b *Borrowed, done <-chan struct{}) {
	if b.refs.Load() > 1 {
		s.awaitSent(done)
		c := s.conn.lock()
		c.core.KeepBorrowed(&s.core, b)
		c.unlock()
	}
	b.Free()
	b.inUse.Lock() // the holder of a parcel of it is in a write that does not wait
	raceRead(b.SliceBuffer)
	b.inUse.Unlock()
}

// The lender of a message waits for another lentWait if leastSent bytes were sent in the last one: to
// copy as many takes about a hundredth of that.
const (
	lentWait  = 2 * time.Millisecond
	leastSent = 256 << 10
)

// awaitSent returns when little of what waits on s is left, or it takes too long.
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

// lentRoom returns how many bytes wait on s, and a channel that is closed when there is room for
// more; nil if there is.
func (s *Stream) lentRoom() (waiting int, room <-chan struct{}) {
	c := s.conn.lock()
	defer c.unlock()
	if !c.core.Full(&s.core) {
		return 0, nil
	}
	return s.core.Unsent(), c.core.AwaitRoom(&s.core, newGate).(gate)
}
