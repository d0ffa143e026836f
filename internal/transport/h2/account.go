// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/hpack"
)

// account is what the peer makes a connection hold, in bytes of memory. Pure; guarded
// by Conn.mu.
//
// It is charged when memory is taken for something that came from the peer, with what
// that costs, and refunded when the memory is given back or is the application's. The
// bound on it is a last resort: nothing that is charged is more than about four times
// what the peer has spent for it.
type account struct {
	held   int64
	shown  int64  // of held, what is in the total of the process
	earned uint32 // bytes of DATA that arrived, as far as they count
	// records is what a parked connection holds of a record of its security protocol that has
	// not arrived whole. While there is a reader it is on its way, and bounded by the protocol.
	records uint32
}

// maxAhead bounds what is reserved for messages that have not arrived, in bytes.
const maxAhead = 4 << 20

// charge adds n bytes, and refund takes them off again. Between the two that are about
// the same memory, and run on two goroutines, the account may be short of it.
func (a *account) charge(n int) { a.held += int64(n) }
func (a *account) refund(n int) { a.held -= int64(n) }

// arrived counts n bytes of DATA.
func (a *account) arrived(n uint32) { a.earned = min(a.earned+min(n, maxAhead), maxAhead) }

// ahead is how many bytes may be reserved for a message that has not arrived: as much
// as the peer has sent before, less what is held already. A message that has all of
// its memory at once need not be copied as it grows.
func (a *account) ahead() int { return int(max(int64(a.earned)-a.held, 0)) }

// standing is what follows from what a connection holds.
type standing uint8

const (
	solvent  standing = iota
	strained          // past the bound: no new streams
	bankrupt          // past twice the bound: the connection ends
)

func (a *account) standing(bound int64) standing {
	switch held := a.held + int64(a.records); {
	case held <= bound:
		return solvent
	case held/2 <= bound:
		return strained
	}
	return bankrupt
}

// Shared is memory that is charged once, however many streams, and perhaps a memo,
// hold it. It belongs to one connection. Guarded by Conn.mu, but for size, which does
// not change.
type Shared struct {
	size    int
	entries []*hpack.Entry // held with it, and shared in turn
	holders int
}

// NewShared is size bytes, and the memory of entries, that nobody holds yet.
func NewShared(size int, entries []*hpack.Entry) Shared {
	return Shared{size: size, entries: entries}
}

// hold and drop say that there is one more holder of s, or one less. A nil s is nothing.
func (a *account) hold(s *Shared) {
	if s == nil {
		return
	}
	if s.holders++; s.holders > 1 {
		return
	}
	a.charge(s.size)
	for _, e := range s.entries {
		if e.Holders++; e.Holders == 1 {
			a.charge(e.Size())
		}
	}
}

func (a *account) drop(s *Shared) {
	if s == nil {
		return
	}
	if s.holders--; s.holders > 0 {
		return
	}
	a.refund(s.size)
	for _, e := range s.entries {
		if e.Holders--; e.Holders == 0 {
			a.refund(e.Size())
		}
	}
}

// ledger is what the reader has taken and not charged yet. It charges it when it takes
// Conn.mu anyway, at the end of its batch at the latest. Owned by the reader.
type ledger struct {
	stream *Stream // who holds the bytes of body and the block that follow
	body   int
	block  *Shared
	loose  int     // bytes that the connection holds for itself
	gained *Shared // by a memo
	lost   *Shared
}

// enter charges what the ledger has. mu is held.
func (c *Conn) enter() {
	l := &c.act.ledger
	if s := l.stream; s != nil {
		if !s.settled {
			s.held += l.body
			c.account.charge(l.body)
			c.share(s, l.block)
		}
		l.stream, l.body, l.block = nil, 0, nil
	}
	if l.loose != 0 {
		c.account.charge(l.loose)
		l.loose = 0
	}
	if l.gained != nil || l.lost != nil {
		c.account.hold(l.gained)
		c.account.drop(l.lost)
		l.gained, l.lost = nil, nil
	}
	c.act.broke = c.account.standing(c.cfg.maxHeld()) == bankrupt
}

// share makes s a holder of b. mu is held.
func (c *Conn) share(s *Stream, b *Shared) {
	if b != nil {
		c.account.hold(b)
		c.account.drop(s.shared)
		s.shared = b
	}
}

// forgetMemos is for a reader that is about to go.
func (c *Conn) forgetMemos() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.enter()
	for i := range c.act.memos.slot {
		c.account.drop(c.act.memos.slot[i].shared)
	}
	c.act.memos.clear()
	c.show()
}

// total is what the accounts of the process hold, in shards: each connection has one by
// the memory it lies in. It follows the accounts when their connections have nothing
// better to do.
var total [64]struct {
	bytes atomic.Int64
	_     [56]byte
}

// BytesHeld is what all connections of the process hold of what their peers sent, in bytes
// of memory.
func BytesHeld() int64 {
	var n int64
	for i := range total {
		n += total[i].bytes.Load()
	}
	return n
}

// show brings the total up to date. mu is held.
func (c *Conn) show() {
	a := &c.account
	held := a.held + int64(a.records)
	if c.dead {
		held = 0
	}
	if d := held - a.shown; d != 0 {
		a.shown = held
		total[uintptr(unsafe.Pointer(c))>>9%uintptr(len(total))].bytes.Add(d)
	}
}

// settle ends the charges for s: what is left of it is the application's. mu is held.
func (c *Conn) settle(s *Stream) {
	if s.settled {
		return
	}
	s.settled = true
	c.account.refund(s.held)
	c.account.drop(s.shared)
	s.held, s.shared = 0, nil
}

// bankruptcy ends a connection that holds too much.
func (c *Conn) bankruptcy() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.enter()
	if c.account.standing(c.cfg.maxHeld()) != bankrupt {
		return nil
	}
	return frame.ConnError(frame.EnhanceYourCalm, fmt.Sprintf(
		"the connection holds %d bytes of what its peer sent, more than twice the bound of %d", c.account.held, c.cfg.maxHeld()))
}
