// SPDX-License-Identifier: Apache-2.0

package streams

import (
	"io"
	"sync"

	"google.golang.org/grpc/internal/handover"
	"google.golang.org/grpc/internal/warm"
)

// core is what streams of both sides have in common: the turn, and the messages that wait to be sent.
// The package comment describes its states.
type core struct {
	turn handover.Turn

	// Owned by the goroutine that has the turn.
	inputOver bool
	told      bool // the application has been told of the end, or is being told

	// Guarded by mu, which also guards queue and last.
	stage   stage
	wanting bool // a sender was refused for lack of room, or a message dropped

	plain bool // servers only: nothing around the stream sees its messages

	side side
	opts *Options

	mu    sync.Mutex // held while a message is sent
	queue *queue     // messages that wait for room; nil: none does
	last  error      // the error with which the sending side ends, or has ended
}

// side is the part of a stream that differs between server and client.
type side interface {
	// arm returns what there is to do, or arranges that the core is woken. Only the goroutine that has
	// the turn may call arm, receive, ready and over.
	arm(input bool) handover.Events
	// receive takes the next message, or what comes in place of one, and gives it to the application. It
	// reports whether there may be more to do.
	receive() (more bool)
	ready()
	// over tells the application that the RPC ended with err, and lets go of the RPC.
	over(err error)

	// room reports whether transmit may be called. If not, the core is woken when it may. What is
	// sent after a call with lazy true waits for the connection's next flush. The caller of room,
	// transmit, offer, end and fate must hold mu.
	room(lazy bool) bool
	transmit(m any) error
	// offer transmits m if there is room; otherwise the core is woken as by room. more is how many
	// other streams of the connection are offered m next; if it is not 0, m is sent lazily.
	offer(m any, more int) (taken bool, err error)
	// end ends the sending side as the application wants it, with err. If the side has ended with
	// another error, end returns that.
	end(err error) error
	// goesOn reports whether messages may come after the sending side has ended without an error.
	goesOn() bool
	// fate returns what the RPC has ended with, if end has not been called.
	fate() error
	// late returns what the RPC is to end with once arm has returned handover.Late.
	late() error
}

// stage says how far the sending side has come. It only grows.
type stage uint8

const (
	open   stage = iota
	ending       // no message is accepted any more; those that wait are still sent
	ended        // the end has been sent, or can't be
)

// Wake implements handover.Waker.
func (c *core) Wake() {
	if c.turn.Wake() {
		warm.Go(c)
	}
}

// HandlerReturned implements handover.Owner. Until now the handler had the turn.
func (c *core) HandlerReturned() {
	if c.side.arm(!c.inputOver) == 0 && c.turn.Rest() {
		return
	}
	warm.Go(c)
}

// Run implements warm.Task. It keeps the turn until there is nothing to do.
func (c *core) Run() {
	clean := false
	defer func() {
		if clean {
			return
		}
		if c.opts.Recover == nil { // a panic ends the process, also if the callback holds a lock that OnDone takes
			go c.abandon(errPanic)
			return
		}
		err := errPanic                   // if it was no panic, the callback has ended its goroutine
		defer func() { c.abandon(err) }() // also if Recover does so
		if value := recover(); value != nil {
			err = c.recovered(value)
		}
	}()
	for c.step() {
	}
	clean = true
}

// step does what there is to do. It reports whether there may be more.
func (c *core) step() (more bool) {
	have := c.side.arm(!c.inputOver)
	if have.Has(handover.Over) {
		c.conclude()
		return false
	}
	if have.Has(handover.Late) {
		c.fail(c.side.late())
		return true // what comes next is Over
	}
	flushed := c.flush()
	if have.Has(handover.Input) {
		return c.side.receive()
	}
	return flushed || !c.turn.Rest()
}

// flush sends the messages that wait, as long as there is room. It reports whether it has done anything.
func (c *core) flush() bool {
	flushed, tell := c.sendWaiting()
	if tell {
		c.side.ready()
	}
	return flushed
}

// sendWaiting is flush without the call that tells of room: tell says that it has to follow. Like all that holds mu
// while the program's codec, interceptors or stats handlers run, it releases mu also if they panic.
func (c *core) sendWaiting() (flushed, tell bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queue.len() == 0 && !c.wanting || c.stage == ended || !c.side.room(false) {
		return false, false
	}
	for c.queue.len() > 0 && c.side.room(false) && c.transmit(c.pop()) == nil {
	}
	if c.queue.len() > 0 || c.stage == ended {
		return true, false
	}
	if c.stage == ending {
		_ = c.end(c.last) // conclude will tell
	}
	tell = c.wanting && c.stage == open
	c.wanting = false
	return true, tell
}

// manner says how a message is sent. atOnce means: now or not at all. Any other value is the number of other
// streams of the connection that send the same message next, so that it need not be written at once.
type manner int

const (
	queued manner = 0  // the message may wait for room, as with any positive number
	atOnce manner = -1 // the message may not wait
)

// send sends m, or puts it in the queue if there is no room and m may wait.
func (c *core) send(m any, how manner) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stage != open {
		return c.closed()
	}
	if c.queue.len() == 0 {
		taken, err := c.side.offer(m, max(int(how), 0))
		if err != nil {
			_ = c.end(err) // with err, or with the error that caused it
		}
		if taken || err != nil {
			return err
		}
	}
	return c.wait(m, how != atOnce)
}

// wait is called when there was no room for m. It puts m in the queue if m may wait. mu is held.
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
		_ = c.end(c.opts.overflow()) // conclude will tell
		return ErrNoRoom
	}
	c.wanting = true
	return ErrNoRoom
}

// push puts m in the queue. mu is held.
func (c *core) push(m any) {
	if c.queue == nil {
		c.queue = new(queue)
	}
	c.queue.push(m)
}

// pop takes the message that has waited longest. The queue must not be empty, and mu is held.
func (c *core) pop() any {
	m := c.queue.pop()
	if c.queue.len() == 0 {
		c.queue = nil
	}
	return m
}

// closed returns the error that says why no message is accepted any more. mu is held.
func (c *core) closed() error {
	if c.stage == ended && c.last != nil {
		return c.last
	}
	return ErrEnding
}

// transmit sends m. There must be room for it, and mu is held.
func (c *core) transmit(m any) error {
	err := c.side.transmit(m)
	if err != nil {
		_ = c.end(err) // with err, or with the error that caused it
	}
	return err
}

// finish ends the sending side with err, after the messages that wait.
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
	before, was := c.stage, c.last
	c.queue = nil
	c.stage, c.last = ended, err
	left := true
	defer func() {
		if left { // the program's code, such as a log's sink, has not returned: somebody has to end it yet
			c.stage, c.last = before, was
		}
	}()
	other := c.side.end(err)
	left = false
	if other != nil {
		c.last = other
	}
	return other
}

// fail calls end, unless the sending side has ended already.
func (c *core) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stage != ended {
		_ = c.end(err)
	}
}

// conclude ends a stream whose RPC is over, and whose last error says how.
func (c *core) conclude() { c.leave(c.fate()) }

// fate ends the sending side of a stream whose RPC is over, unless it has ended already, and returns its last error.
func (c *core) fate() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stage != ended {
		_ = c.end(c.side.fate())
	}
	return c.last
}

// leave is the last thing that is done for a stream. It keeps the turn for good.
func (c *core) leave(err error) {
	c.turn.End()
	c.told = true
	c.side.over(err)
}

// abandon ends a stream whose callback has not returned.
func (c *core) abandon(err error) {
	c.drop(err)
	if c.told {
		return
	}
	if c.opts.Recover != nil {
		defer func() {
			if value := recover(); value != nil { // of OnDone; the RPC is over, so nobody is told what Recover returns
				_ = c.opts.Recover(value)
			}
		}()
	}
	c.conclude()
}

// recovered returns what the RPC ends with when a callback has panicked.
func (c *core) recovered(value any) error {
	if err := c.opts.Recover(value); err != nil {
		return asStatus(err)
	}
	return errPanic
}

// drop ends what abandon leaves: the sending side, or the receiving side where only that goes on.
func (c *core) drop(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stage != ended || c.last == io.EOF || c.last == nil && !c.told && c.side.goesOn() { // io.EOF says that only receiving goes on
		_ = c.end(err)
	}
}
