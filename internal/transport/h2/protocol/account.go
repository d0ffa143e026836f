// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"fmt"

	"google.golang.org/grpc/internal/transport/h2/flow"
	"google.golang.org/grpc/internal/transport/h2/frame"
)

// account counts what the peer makes a connection hold, in bytes of memory.
//
// It is charged when memory is taken for something that came from the peer, with what
// that costs, and refunded when the memory is given back or is the application's. The
// bound on it is a last resort: nothing that is charged is more than about four times
// what the peer has spent for it.
type account struct {
	held   int64
	shown  int64  // of held, what is in the total of the process
	earned uint32 // bytes of DATA that arrived, up to maxAhead
	// records is what the layer of a security protocol held on to when the reader last waited:
	// a part of a record. The total has it from the layer itself.
	records uint32
}

// maxAhead bounds what is reserved for messages that have not arrived, in bytes: as much as
// a window can grow to. With less, large messages that wait to be read would use it up, and
// the memory of those behind them would have to grow, by copying, as they arrive.
const maxAhead = flow.MaxBDPWindow

// charge adds n bytes, and refund takes them off again. The two may run on different
// goroutines, and the refund of some memory come before its charge: held is too low, and may be
// below zero, in between.
func (a *account) charge(n int) { a.held += int64(n) }
func (a *account) refund(n int) { a.held -= int64(n) }

// arrived counts n bytes of DATA.
func (a *account) arrived(n uint32) { a.earned = min(a.earned+min(n, maxAhead), maxAhead) }

// ahead is how many bytes may be reserved for a message that has not arrived: as much
// as the peer has sent before, less what is held already. A message that has all of
// its memory at once need not be copied as it grows.
func (a *account) ahead() int { return int(max(int64(a.earned)-a.held, 0)) }

// limitState is where what a connection holds stands between its two limits.
type limitState uint8

const (
	withinLimit   limitState = iota
	overSoftLimit            // past the bound: no new streams
	overHardLimit            // past twice the bound: the connection ends
)

func (a *account) limitState(bound int64) limitState {
	switch held := a.held + int64(a.records); {
	case held <= bound:
		return withinLimit
	case held/2 <= bound:
		return overSoftLimit
	}
	return overHardLimit
}

// hold and drop say that there is one more holder of s, or one less. A nil s is nothing.
func (a *account) hold(s *Shared) {
	if s == nil {
		return
	}
	if s.holders++; s.holders > 1 {
		return
	}
	a.charge(int(s.size &^ isCopy))
	for _, f := range s.counted() {
		if f.Holders++; f.Holders == 1 {
			a.charge(f.Size())
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
	a.refund(int(s.size &^ isCopy))
	for _, f := range s.counted() {
		if f.Holders--; f.Holders == 0 {
			a.refund(f.Size())
		}
	}
}

// share makes s a holder of b, in place of what it held before.
func (a *account) share(s *Stream, b *Shared) {
	if b != nil {
		a.hold(b)
		a.drop(s.shared)
		s.shared = b
	}
}

// refundOf takes n bytes off what is held for s.
func (a *account) refundOf(s *Stream, n int) {
	if !s.settled {
		s.held -= n
		a.refund(n)
	}
}

// settle ends the charges for s: what it still has is the application's.
func (a *account) settle(s *Stream) {
	if s.settled {
		return
	}
	s.settled = true
	a.refund(s.held)
	a.drop(s.shared)
	s.held, s.shared = 0, nil
}

// enter charges what l has, which is empty after that.
func (a *account) enter(l *ledger) {
	if s := l.stream; s != nil {
		if !s.settled {
			s.held += l.body
			a.charge(l.body)
			a.share(s, l.block)
		}
		l.stream, l.body, l.block = nil, 0, nil
	}
	if l.loose != 0 {
		a.charge(l.loose)
		l.loose = 0
	}
	if l.gained != nil || l.lost != nil {
		a.hold(l.gained)
		a.drop(l.lost)
		l.gained, l.lost = nil, nil
	}
}

// Unshown returns by how much the account differs from what was shown last, and takes that as shown.
// Nothing of a dead connection's counts any more. Records are not in it: the layer that holds them
// counts them.
func (c *Conn) Unshown() int64 {
	a := &c.account
	held := a.held
	if c.life.dead() {
		held = 0
	}
	d := held - a.shown
	a.shown = held
	return d
}

func errOverHardLimit(held, bound int64) error {
	return frame.ConnError(frame.EnhanceYourCalm, fmt.Sprintf(
		"the connection holds %d bytes of what its peer sent, more than twice the bound of %d", held, bound))
}
