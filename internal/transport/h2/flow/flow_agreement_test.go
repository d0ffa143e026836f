// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// link is one direction of data on one stream, with both ends' bookkeeping and
// what is under way between them. Each way is in order, as TCP is.
type link struct {
	in        Inflow
	piggyback Piggyback
	out       Outflow
	outConn   Outflow

	data    []toReceiver
	control []toSender
	// initial is the setting as the receiver last sent it.
	initial int64
	// model of the sender's window, in numbers that cannot overflow
	peer int64
}

type toReceiver struct {
	n      uint32
	ack    bool
	change int64 // with ack: the change of the setting it answers
}

type toSender struct {
	increment uint32
	settings  bool
	change    int64
}

func newLink(initial uint32) *link {
	return &link{
		in: newInflow(initial), out: newOutflow(initial), outConn: newOutflow(MaxWindow),
		initial: int64(initial), peer: int64(initial),
	}
}

func (l *link) send(n uint32) error {
	n = min(n, l.out.Available(&l.outConn))
	if n == 0 {
		return nil
	}
	l.data = append(l.data, toReceiver{n: n})
	l.peer -= int64(n)
	if err := l.out.Take(&l.outConn, n); err != nil {
		return err
	}
	return l.outConn.Add(n) // this test is about the stream
}

func (l *link) grant(increment uint32) {
	if increment > 0 {
		l.control = append(l.control, toSender{increment: increment})
	}
}

// changeSetting raises at once and lowers at the acknowledgement.
func (l *link) changeSetting(to int64) error {
	change := to - l.initial
	if change > 0 {
		if l.in.AdjustInitial(change) != nil {
			return nil // not to be sent
		}
	}
	l.initial = to
	l.control = append(l.control, toSender{settings: true, change: change})
	return nil
}

// deliver moves one item to the sender, or one to the receiver.
func (l *link) deliver(toTheSender bool) error {
	switch {
	case toTheSender && len(l.control) > 0:
		c := l.control[0]
		l.control = l.control[1:]
		if !c.settings {
			l.peer += int64(c.increment)
			return l.out.Add(c.increment)
		}
		l.peer += c.change
		l.data = append(l.data, toReceiver{ack: true, change: c.change})
		return l.out.AdjustInitial(c.change)
	case !toTheSender && len(l.data) > 0:
		d := l.data[0]
		l.data = l.data[1:]
		if !d.ack {
			err := l.in.Receive(d.n)
			l.grant(l.piggyback.Consume(&l.in, 0))
			return err
		}
		if d.change < 0 {
			err := l.in.AdjustInitial(d.change)
			l.grant(l.in.Consume(0))
			return err
		}
	}
	return nil
}

func (l *link) settle() error {
	for len(l.data)+len(l.control) > 0 {
		if err := l.deliver(len(l.control) > 0); err != nil {
			return err
		}
	}
	return nil
}

func (l *link) check() error {
	if l.peer > MaxWindow || l.peer < -MaxWindow {
		return fmt.Errorf("the peer's window is %d", l.peer)
	}
	if got := int64(l.out.window.n); got != l.peer {
		return fmt.Errorf("outflow %d, model %d", got, l.peer)
	}
	return nil
}

// size draws from all magnitudes alike.
func size(r *rand.Rand) uint32 { return uint32(r.Uint64N(1 << (1 + r.UintN(31)))) }

// TestBothEndsAgree runs random traffic and asks for three things: neither end
// ever sees the other break a rule; once nothing is under way both know the same
// window; and a sender with data is never left without a window when the
// receiver has consumed everything.
func TestBothEndsAgree(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		if err := randomTraffic(r, size(r), seed%2 == 0); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func randomTraffic(r *rand.Rand, initial uint32, withSettings bool) error {
	l := newLink(initial)
	for i := range 400 {
		var err error
		switch op := r.UintN(17); {
		case op < 5:
			err = l.send(size(r))
		case op < 8:
			err = l.deliver(true)
		case op < 11:
			err = l.deliver(false)
		case op < 13:
			l.grant(l.piggyback.Consume(&l.in, uint32(min(int64(size(r)), int64(l.in.unread)))))
		case op == 16:
			l.grant(l.piggyback.Sends(&l.in))
		case op == 13 && !withSettings:
			l.grant(l.in.SetTarget(size(r)))
		case op == 13:
			err = l.changeSetting(int64(min(size(r), 1<<28)))
		case op == 14:
			err = expectAndReceive(l, min(size(r), 1<<28))
		default:
			err = consumeAllThenSend(l)
		}
		if err == nil {
			err = l.check()
		}
		if err != nil {
			return fmt.Errorf("step %d: %w; %+v", i, err, l.in)
		}
	}
	return nil
}

func consumeAllThenSend(l *link) error {
	if err := l.settle(); err != nil {
		return err
	}
	for l.in.unread > 0 {
		l.grant(l.piggyback.Consume(&l.in, min(l.in.unread, MaxWindow)))
	}
	if err := l.settle(); err != nil {
		return err
	}
	if got, want := int64(l.in.window.n), l.peer; got != want {
		return fmt.Errorf("inflow %d, the peer has %d", got, want)
	}
	if l.in.target > 1 && l.peer <= 0 {
		return fmt.Errorf("stall: all was consumed, and the peer's window is %d", l.peer)
	}
	return nil
}

// expectAndReceive: whatever is unread, the peer can send what we wait for.
func expectAndReceive(l *link, n uint32) error {
	if err := l.settle(); err != nil {
		return err
	}
	l.grant(l.in.Expect(n))
	if err := l.settle(); err != nil {
		return err
	}
	if got := l.out.Available(&l.outConn); got < n {
		return fmt.Errorf("expecting %d, the peer may send %d", n, got)
	}
	return nil
}

func FuzzBothEndsAgree(f *testing.F) {
	f.Add(uint64(1), uint32(DefaultWindow), true)
	f.Add(uint64(2), uint32(0), false)
	f.Add(uint64(3), uint32(MaxWindow), true)
	f.Fuzz(func(t *testing.T, seed uint64, initial uint32, withSettings bool) {
		r := rand.New(rand.NewPCG(seed, 2))
		if err := randomTraffic(r, min(initial, MaxWindow), withSettings); err != nil {
			t.Fatal(err)
		}
	})
}
