// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"fmt"

	"google.golang.org/grpc/internal/transport/h2/flow"
	"google.golang.org/grpc/internal/transport/h2/frame"
)

// account counts what the peer makes a connection hold, in bytes of memory.
//
// It is charged when memory is taken for something that came from the peer, with what that memory
// costs. It is refunded when the memory is given back or becomes the application's. The bound on it is
// a last resort: nothing costs more than about four times what the peer has spent for it.
type account struct {
	held   int64
	shown  int64  // the part of held that is in the total of the process
	earned uint32 // bytes of DATA that arrived, up to maxAhead
	// records is the memory of an incomplete record that the layer of a security protocol (TLS, ALTS)
	// held when the reader last waited. The layer itself adds it to the total of the process.
	records uint32
}

// maxAhead bounds what is reserved for messages that have not arrived, in bytes. It is the largest size
// to which a window can grow. With a lower bound, large messages that wait to be read would use all of
// it up. Then the memory of the messages behind them would have to grow, by copying, as they arrive.
const maxAhead = flow.MaxBDPWindow

// charge adds n bytes, and refund takes n bytes off. Different goroutines may call them, always with
// the driver's lock held. Memory may be refunded before it is charged: until the charge, held is too
// low and may be below zero.
func (a *account) charge(n int) { a.held += int64(n) }
func (a *account) refund(n int) { a.held -= int64(n) }

// arrived counts n bytes of DATA.
func (a *account) arrived(n uint32) { a.earned = min(a.earned+min(n, maxAhead), maxAhead) }

// ahead returns how many bytes may be reserved for a message that has not arrived: as much as the peer
// has sent before, less what is held already. A message whose memory is reserved all at once need not
// be copied as it grows.
func (a *account) ahead() int { return int(max(int64(a.earned)-a.held, 0)) }

// limitState says where the memory that a connection holds stands between its two limits.
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

// hold records one more holder of s, and drop one less. They do nothing if s is nil.
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

// refundOf takes n bytes off the charges of s.
func (a *account) refundOf(s *Stream, n int) {
	if !s.settled {
		s.held -= n
		a.refund(n)
	}
}

// settle ends the charges for s: what s still has belongs to the application.
func (a *account) settle(s *Stream) {
	if s.settled {
		return
	}
	s.settled = true
	a.refund(s.held)
	a.drop(s.shared)
	s.held, s.shared = 0, nil
}

// enter charges what is in l, and empties l.
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

// Unshown returns by how much the account has changed since the last call. The driver adds that to the
// total of the process. Nothing that a dead connection holds counts any more. Incomplete records are
// left out: the layer that holds them counts them itself.
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
