// SPDX-License-Identifier: Apache-2.0

package streams

import (
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc/internal/handover"
	"google.golang.org/grpc/internal/warm"
)

// core is what streams of both sides have in common: whose turn it is, and what waits to be
// sent. See the package comment for its states.
type core struct {
	turn handover.Turn

	// Owned by who has the turn.
	inputOver bool
	told      bool // the application knows of the end, or is being told

	// Guarded by mu, as are queue and last.
	stage   stage
	wanting bool // somebody was told that there is no room

	plain bool // of a server: nothing around the stream sees its messages

	side side
	opts *Options

	mu    sync.Mutex // is held while a message is sent
	queue *queue     // of messages that wait for room; nil: none does
	last  error      // what ends, or has ended, the sending side
}

// side is the half of a stream that its side, server or client, is different in.
type side interface {
	// arm returns what there is to do, or has the core woken: for who has the turn, as are
	// receive, ready, and over.
	arm(input bool) handover.Events
	// receive takes a message and hands it to the application, or what comes in place of
	// one. It reports whether there may be more to do.
	receive() (more bool)
	ready()
	// over tells the application that the RPC is over, with err, and lets go of it.
	over(err error)

	// room reports whether transmit may be called; if not, the core is woken when it may.
	// It is called with mu held, as are transmit, offer, end and fate.
	// What is sent lazily after it waits for the connection's next flush.
	room(lazy bool) bool
	transmit(m any) error
	// offer is transmit if there is room, and else wakes as room does. With more it is lazy:
	// so many other streams of the connection are offered m next.
	offer(m any, more int) (taken bool, err error)
	// end ends the sending side as the application wants it, with err. It returns what it
	// has ended with if that is something else.
	end(err error) error
	// fate is what the RPC has ended with, if nobody has called end.
	fate() error
}

// stage is how far the sending side is. It only grows.
type stage uint8

const (
	open   stage = iota
	ending       // nothing is taken any more; what waits is still sent
	ended        // the end was sent, or can't be
)

// Wake implements handover.Waker.
func (c *core) Wake() {
	if c.turn.Wake() {
		warm.Go(c)
	}
}

// HandlerReturned implements handover.Owner. The turn was the handler's until now.
func (c *core) HandlerReturned() {
	if c.side.arm(!c.inputOver) == 0 && c.turn.Rest() {
		return
	}
	warm.Go(c)
}

// Run implements warm.Task. It has the turn, until there is nothing to do.
func (c *core) Run() {
	clean := false
	defer func() {
		if clean {
			return
		}
		err := errPanic // or the callback has ended its goroutine
		if c.opts.Recover != nil {
			if value := recover(); value != nil {
				if e := c.opts.Recover(value); e != nil {
					err = e
				}
			}
		}
		c.abandon(err)
	}()
	for c.step() {
	}
	clean = true
}

// step does what there is to do, and reports whether there may be more.
func (c *core) step() (more bool) {
	have := c.side.arm(!c.inputOver)
	if have.Has(handover.Over) {
		c.conclude()
		return false
	}
	flushed := c.flush()
	if have.Has(handover.Input) {
		return c.side.receive()
	}
	return flushed || !c.turn.Rest()
}

// flush sends what waits, as far as there is room, and reports whether it has done anything.
func (c *core) flush() bool {
	c.mu.Lock()
	if c.queue.len() == 0 && !c.wanting || c.stage == ended || !c.side.room(false) {
		c.mu.Unlock()
		return false
	}
	for c.queue.len() > 0 && c.side.room(false) && c.transmit(c.pop()) == nil {
	}
	if c.queue.len() > 0 || c.stage == ended {
		c.mu.Unlock()
		return true
	}
	if c.stage == ending {
		_ = c.end(c.last) // conclude tells
	}
	tell := c.wanting && c.stage == open
	c.wanting = false
	c.mu.Unlock()
	if tell {
		c.side.ready()
	}
	return true
}

// manner is how a message is sent: the number of other streams of the connection that send it
// next, so that it need not be written at once, or atOnce.
type manner int

const (
	queued manner = 0  // it may wait for room, as it may with any number of others
	atOnce manner = -1 // or not at all
)

// send sends m, or has it wait if it may.
func (c *core) send(m any, how manner) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stage != open {
		return c.closed()
	}
	if c.queue.len() == 0 {
		taken, err := c.side.offer(m, max(int(how), 0))
		if err != nil {
			_ = c.end(err) // with this, or what it is a consequence of
		}
		if taken || err != nil {
			return err
		}
	}
	return c.wait(m, how != atOnce)
}

// wait follows an attempt to send m that met no room: it waits if it may. mu is held.
func (c *core) wait(m any, may bool) error {
	switch {
	case may && c.queue.len() < c.opts.Queue:
		c.push(m)
		return nil
	case may && c.opts.Full == DropOldest && c.opts.Queue > 0:
		c.pop()
		c.push(m)
		c.wanting = true
		return nil
	case may && c.opts.Full == End:
		_ = c.end(c.opts.overflow()) // conclude tells
		return ErrNoRoom
	}
	c.wanting = true
	return ErrNoRoom
}

// push has m wait. mu is held.
func (c *core) push(m any) {
	if c.queue == nil {
		c.queue = new(queue)
	}
	c.queue.push(m)
}

// pop takes the message that has waited longest. There is one, and mu is held.
func (c *core) pop() any {
	m := c.queue.pop()
	if c.queue.len() == 0 {
		c.queue = nil
	}
	return m
}

// closed is why nothing is taken any more. mu is held.
func (c *core) closed() error {
	if c.stage == ended && c.last != nil {
		return c.last
	}
	return ErrEnding
}

// transmit sends m, for which there is room. mu is held.
func (c *core) transmit(m any) error {
	err := c.side.transmit(m)
	if err != nil {
		_ = c.end(err) // with this, or what it is a consequence of
	}
	return err
}

// finish ends the sending side with err, behind what waits.
func (c *core) finish(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stage != open {
		return c.closed()
	}
	if c.queue.len() > 0 {
		c.stage, c.last = ending, err
		return nil
	}
	return c.end(err)
}

// end ends the sending side now. mu is held.
func (c *core) end(err error) error {
	c.queue = nil
	c.stage, c.last = ended, err
	if other := c.side.end(err); other != nil {
		c.last = other
		return other
	}
	return nil
}

// fail is end, unless that was before.
func (c *core) fail(err error) {
	c.mu.Lock()
	if c.stage != ended {
		_ = c.end(err)
	}
	c.mu.Unlock()
}

// conclude follows the end of an RPC whose sending side tells of it.
func (c *core) conclude() {
	c.mu.Lock()
	if c.stage != ended {
		_ = c.end(c.side.fate())
	}
	err := c.last
	c.mu.Unlock()
	c.leave(err)
}

// leave is the last that is done for a stream. The turn is kept for good.
func (c *core) leave(err error) {
	c.turn.End()
	c.told = true
	c.side.over(err)
}

// abandon is conclude where a callback did not return.
func (c *core) abandon(err error) {
	c.mu.Lock()
	if c.stage != ended || errors.Is(c.last, io.EOF) { // which says that receiving goes on
		_ = c.end(err)
	}
	c.mu.Unlock()
	if c.told {
		return
	}
	c.conclude()
}
