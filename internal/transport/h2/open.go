// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"math"
	"time"

	"google.golang.org/grpc/internal/clock"
	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/transport/h2/protocol"
)

// Start sends the preface and begins to read, on a goroutine of its own. Drain and Retire may be called
// before it: what they send follows the preface.
func (c *Conn) Start() { c.StartAfter(0) }

// StartAfter is Start for a connection on which spent has passed already of the time that the preface may take.
func (c *Conn) StartAfter(spent time.Duration) {
	c.wire.CountIn((*locked)(c).total())
	if c.tracer() != nil {
		c.traceOpen()
	}
	l := c.lock()
	l.since = clock.Now()
	drains, ok := l.core.Start()
	if !ok {
		l.unlock()
		if c.tracer() != nil {
			c.traceClosed(c.Cause())
		}
		return // Close came first, and has told the Handler
	}
	c.initParking() // with the lock held: Close may come from now on, and looks at the handle
	if t := l.core.Config().PrefaceTimeout; t > 0 {
		t = max(t-spent, 1)
		left := true
		defer func() {
			if left { // a wrapper's SetReadDeadline has ended the goroutine
				l.unlock()
			}
		}()
		l.wire.readUntil(time.Now().Add(t))
		left = false
		if c.in.parks == never || !c.in.can.Has(readyreader.EndsReads) {
			l.armKeepalive(min(t, math.MaxInt64-lastFlush) + lastFlush) // in case deadlines have no effect
		}
	}
	if drains {
		time.AfterFunc(drainPatience, c.drainLate)
	}
	defer c.ground().Go((*reader)(c)) // also if the write ends the goroutine: see errWriterLeft
	l.unlockAndFlush()
}

func (c *Conn) initParking() {
	switch {
	case !watched(c.core.Config()):
	case c.in.can.Has(readyreader.WaitsInRead):
		c.in.parks = parks
		c.quiet.word.Store(works)
	case c.in.can.Has(readyreader.TriesReads):
		c.in.parks = parks
		c.handle.InitOn(c.ground(), (*parkedConn)(c))
		return
	}
	c.handle.Init(nil)
}

// Open gives s the next stream id and sends f, which has Headers, as its beginning, in one piece. It
// may wait for a place under the peer's limit of streams; calls get a place in the order in which they
// came, except that a call waits behind all others if the peer lowers its limit just when there was a place
// for it. The wait ends when the Done of while is closed; while may be nil. If Open fails, the peer has
// seen nothing of s, unless the error is that the trailers of f were too large for the peer. The
// connection frees the data of f in every case.
func (c *Conn) Open(s *Stream, f protocol.Frames, while Waiting) error {
	if f.Headers == nil {
		f.Data.Free()
		return protocol.ErrStreamDone // nothing else opens a stream
	}
	l := c.lock()
	if err := l.awaitPlace(while); err != nil {
		l.unlockAndFlush()
		f.Data.Free()
		return err
	}
	s.conn = c
	opened, err := l.core.OpenStream(&s.core, &f, l.wire.LeastPiece())
	if !opened {
		l.unlock()
		return err
	}
	l.streamOpened()
	l.unlockAndFlush()
	return err
}

// Waiting ends a wait when Done is closed; a context.Context is a Waiting. Done is called only if there
// is a wait.
type Waiting interface{ Done() <-chan struct{} }

// awaitPlace waits until another stream of ours may be opened. It releases mu during the wait.
func (c *locked) awaitPlace(while Waiting) error {
	for may := c.core.CanOpen(); ; {
		if err := c.core.MayOpen(); err != nil || may {
			return err
		}
		ready := make(chanWaiter, 1)
		w := c.core.AwaitPlace(ready)
		c.unlock()
		var done <-chan struct{}
		if while != nil {
			done = while.Done()
		}
		select {
		case <-ready:
			(*Conn)(c).lock()
			may = c.core.ClaimPlace()
		case <-done:
			(*Conn)(c).lock()
			c.core.AbandonPlace(w)
			return protocol.ErrNoPlace
		}
	}
}

// Close ends the connection at once. The reader tells the connection's streams err.
func (c *Conn) Close(err error) {
	if err == nil {
		err = protocol.ErrClosed
	}
	c.terminate(err)
}
