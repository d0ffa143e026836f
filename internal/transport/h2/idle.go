// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/warm"
)

// Going idle. A reader that has found nothing to read for one to two periods of
// the sweeper, and stands at a frame boundary with nothing buffered, gives back
// what the connection needs only while there is input, parks, and returns. The
// poller, or whoever needs the reader, starts it again. Open streams do not
// keep a connection awake; bytes in hand do.

// errParked ends the frame loop of a reader that has given its role away.
var errParked = errors.New("parked")

// releaser is a connection with a layer of its own that can let go of memory
// while it is idle.
type releaser interface{ ReleaseIdle() }

func (c *Conn) initIdle() {
	if _, ok := readyreader.Socket(c.nc, c.readOptions()); ok && park.Supported() && !warm.InBubble() {
		c.parks = true
		c.handle.Init((*parked)(c))
		return
	}
	c.handle.Init(nil)
}

// parked is the connection as the poller knows it.
type parked Conn

// RawConn implements park.Owner.
func (p *parked) RawConn() syscall.RawConn {
	rc, _ := readyreader.Socket(p.nc, (*Conn)(p).readOptions())
	return rc
}

// Wake implements park.Owner: there is input, or the end of it.
func (p *parked) Wake() { warm.Go((*reader)(p)) }

// interrupter is a connection whose reads are not to be ended by deadlines as they come.
type interrupter interface {
	// Interrupt takes the reader out of its wait, the next one if it is not in one, with
	// os.ErrDeadlineExceeded, and sets flag before; or it does nothing.
	Interrupt(flag *atomic.Bool)
	SetReadDeadline(time.Time) error
}

// quieter is the connection as what the sweeper watches.
type quieter Conn

// Quiet implements park.Quieter: it takes the reader out of its wait.
func (q *quieter) Quiet() {
	if k, ok := q.try.(interrupter); ok {
		k.Interrupt(&q.quiet)
		return
	}
	q.quiet.Store(true)
	q.nc.SetReadDeadline(time.Unix(1, 0))
}

// awaitHeader waits for the next frame, parking when that takes long.
func (c *Conn) awaitHeader() ([]byte, error) {
	for {
		if c.act.rd.Buffered() < frame.HeaderLen {
			c.endBatch()
			if c.atBoundary() {
				c.watch()
			}
		}
		b, err := c.act.rd.Peek(frame.HeaderLen)
		if err == nil {
			c.resume()
			return b, nil
		}
		if !c.wasQuiet(err) {
			return nil, err
		}
		if !c.atBoundary() {
			continue // more came since the sweeper was asked
		}
		if err := c.park(); err != nil {
			return nil, err
		}
	}
}

// atBoundary reports whether nothing is in hand that can't be given back. Elsewhere the
// sweeper is not asked: it could only wake the reader, again and again, for as long as
// the peer keeps the rest to itself. The next frame asks.
func (c *Conn) atBoundary() bool {
	return c.act.rd.Buffered() == 0 && c.gotPreface && c.act.frags.id == 0
}

// watch makes sure that the sweeper looks at a connection that could park. Before the
// peer's SETTINGS it must not: the end of the preface's time limit would lift the
// sweeper's deadline before the reader has met it.
func (c *Conn) watch() {
	if c.parks && !c.swept {
		c.swept = true
		park.ProcessSweeper().Add(&c.act.entry, (*quieter)(c))
	}
}

// wasQuiet reports whether a read failed because the sweeper wants the reader
// to look whether it can park; the read is then to be repeated.
func (c *Conn) wasQuiet(err error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) || !c.quiet.Swap(false) {
		return false
	}
	c.swept = false
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readUntil(clockTime(c.readBy))
	return true
}

// setReadDeadline bounds the wait for input, or lifts the bound. mu is held.
func (c *Conn) setReadDeadline(t time.Time) {
	c.readBy = 0
	if !t.IsZero() {
		c.readBy = int64(t.Sub(epoch))
	}
	c.readUntil(t)
}

// readUntil sets the deadline of reads.
func (c *Conn) readUntil(t time.Time) {
	if k, ok := c.try.(interrupter); ok {
		_ = k.SetReadDeadline(t) // it fails on a connection that is closed
		return
	}
	c.nc.SetReadDeadline(t)
}

// park returns errParked if the reader's role is gone, nil if there is
// something to do first.
func (c *Conn) park() error {
	if _, err := c.act.rd.(readyreader.Pollable).TryPeek(frame.HeaderLen); !errors.Is(err, readyreader.ErrWouldBlock) || c.act.rd.Buffered() > 0 {
		return nil // input came meanwhile, or the end of it, which a read will tell
	}
	c.slim()
	switch err := c.handle.Park(); {
	case err == nil:
		return errParked
	case errors.Is(err, park.ErrKicked), errors.Is(err, park.ErrClosed):
		// Look again: whoever kicked left something.
	default:
		c.parks = false // it waits in a read, as other connections do
	}
	c.activate()
	return nil
}

// slim gives back what an idle connection does not need.
func (c *Conn) slim() {
	c.freezeDecoder()
	c.lasting = c.act.lasting
	c.forgetMemos()
	c.act.release(c.cfg.Pool)
	c.act = nil
	if r, ok := c.nc.(releaser); ok {
		r.ReleaseIdle()
	} else if r, ok := c.try.(releaser); ok { // the layer is within a wrapper
		r.ReleaseIdle()
	}
	records := c.heldRecords()
	c.mu.Lock()
	c.slimmed = true
	c.account.records = uint32(records)
	c.show()
	c.freezeEncoder()
	if c.bdp != nil && !c.bdp.Sampling() {
		c.bdp = nil // but not between the bursts of a long path
	}
	c.table.trim()
	c.mu.Unlock()
}
