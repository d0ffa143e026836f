// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"time"

	"google.golang.org/grpc/internal/clock"
	"google.golang.org/grpc/internal/readyreader"
)

// Start sends the preface and begins to read, on a goroutine of its own. Drain and Retire may
// come before it: what they have to say follows the preface.
func (c *Conn) Start() {
	c.initParking()
	if d, ok := c.wire.try.(readyreader.Detector); ok {
		d.Detect((*sweptConn)(c).unpark)
	}
	if s, ok := c.wire.try.(readyreader.Rester); ok && c.in.parks {
		s.Rest()
	}
	if h := c.wire.holder(); h != nil {
		c.in.holds = true
		h.CountIn(c.account.total())
	}
	if c.out.cfg.Trace != nil {
		c.traceOpen()
	}
	l := c.lock()
	l.streams.since = clock.Now()
	d, ok := l.life.start()
	if !ok {
		l.unlock()
		return // Close came first, and has told the Handler
	}
	l.sendPreface()
	if l.begin(d) {
		time.AfterFunc(drainPatience, c.drainLate)
	}
	l.unlockAndFlush()
	c.out.cfg.Ground.Go((*reader)(c))
}

func (c *Conn) initParking() {
	if _, ok := readyreader.Socket(c.wire.nc, readOptions(&c.wire, c.out.cfg)); ok && c.out.cfg.watched() {
		c.in.parks = true
		c.handle.InitOn(c.out.cfg.Ground, (*parkedConn)(c))
		return
	}
	c.handle.Init(nil)
}

// Open gives s the next stream id and sends f, which has Headers, as its
// beginning, in one piece. It may wait for a place under the peer's limit of
// streams, first come first served, but no longer than while, which may be nil. If Open
// fails, the peer has seen nothing of s, unless it was the trailers of f that were too large
// for it. f's data is freed in every case.
func (c *Conn) Open(s *Stream, f Frames, while Waiting) error {
	if f.Headers == nil {
		f.Data.Free()
		return ErrStreamDone // nothing else opens a stream
	}
	l := c.lock()
	if err := l.awaitPlace(while); err != nil {
		l.unlockAndFlush()
		f.Data.Free()
		return err
	}
	s.conn = c
	l.streams.begin(&s.stream, l.streams.nextLocal, c.streams.side, &l.windows)
	err := l.encode(&s.stream, &f)
	if s.state == stateIdle { // the id is still unused
		l.streams.remove(&s.stream)
		l.unlock()
		return err
	}
	l.streams.takeID()
	l.streamOpened()
	l.unlockAndFlush()
	return err
}

// Waiting ends a wait when Done is closed; a context.Context is one. Done is called only where
// there is a wait.
type Waiting interface{ Done() <-chan struct{} }

// awaitPlace waits until another stream of ours may be opened. mu is released for the
// wait itself.
func (c *locked) awaitPlace(while Waiting) error {
	for may := c.streams.canOpen(); ; {
		if err := c.mayOpen(); err != nil || may {
			return err
		}
		w := c.streams.wait()
		c.mu.Unlock()
		var done <-chan struct{}
		if while != nil {
			done = while.Done()
		}
		select {
		case <-w.ready:
			c.mu.Lock()
			may = c.streams.claim()
		case <-done:
			c.mu.Lock()
			c.streams.abandon(w)
			return ErrNoPlace
		}
	}
}

func (c *locked) mayOpen() error {
	switch {
	case c.life.dead():
		return c.end.cause
	case !c.life.opens():
		return ErrDraining
	case c.streams.exhausted():
		c.leave()
		return ErrDraining
	}
	return nil
}

// Close ends the connection at once. Its streams are told err, by the reader.
func (c *Conn) Close(err error) {
	if err == nil {
		err = ErrClosed
	}
	c.terminate(err)
}
