// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"
	"io"
	"os"
	"time"

	"google.golang.org/grpc/internal/ballast"
	"google.golang.org/grpc/internal/clock"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/transport/h2/protocol"
)

// A batch is what the reader does between two waits for input. The frames that it queues during a batch
// are written when the batch ends. Each wait begins with endBatch and ends with resume.

// await waits until the next n bytes have arrived and returns them. They stay in the buffer.
func (r *reader) await(n int) ([]byte, error) {
	for {
		if r.in.act.rd.Buffered() < n {
			r.endBatch()
		}
		b, err := r.in.act.rd.Peek(n)
		if err == nil {
			r.resume()
			return b, nil
		}
		if !r.wasQuiet(err) {
			return nil, err
		}
	}
}

// skip drops the next n bytes. Each read of a long frame counts as input, as it may take longer than keepalive waits for an
// answer.
func (r *reader) skip(n int) error {
	for n > 0 {
		if r.in.act.rd.Buffered() == 0 {
			if _, err := r.await(1); err != nil {
				return unexpectedEOF(err)
			}
		}
		r.in.act.skipsEnd = false // input came, which the end of the batch has to record
		k, err := r.in.act.rd.Discard(min(n, r.in.act.rd.Buffered()))
		n -= k
		if err != nil {
			return unexpectedEOF(err)
		}
	}
	return nil
}

// resume is called after each wait. It begins a batch, if none has begun: what is queued from here on
// is written when the batch ends, or earlier.
func (r *reader) resume() {
	if a := r.in.act; !a.batch {
		a.batch = true
		a.Now = time.Duration(clock.Now())
		a.entry.Touch()
		ballast.Busy()
		r.heardAt(int64(a.Now))
	}
}

// heardAt records when input came, for keepalive and for a new connection. If input comes so soon after
// the last input on a new connection that a reader that waits would have got it, that counts as a hit
// (see idlePredictor).
func (r *reader) heardAt(now int64) {
	isNew := r.in.predictor.isNew()
	if !isNew && r.core.Config().Keepalive.Interval == 0 {
		return
	}
	last := r.lastRead.Swap(now)
	if isNew && !r.in.swept && last > 0 && now-last < int64(park.Linger) {
		r.in.predictor.recordHit()
	}
}

// endBatch is called when the reader has dealt with everything it has read, and is about to wait. It
// writes what was queued, and starts a task that launch has kept.
func (r *reader) endBatch() {
	r.finishBatch()
	r.launchNext()
}

// finishBatch is endBatch without starting the task: the reader may park, and then run the task itself.
func (r *reader) finishBatch() {
	if !r.in.act.batch {
		return
	}
	r.in.act.batch = false
	r.handler.BatchEnd()
	records := r.retained()
	if a := r.in.act; a.skipsEnd && records == 0 && a.IsCharged(r.in.swept && r.in.parks == parks) {
		return
	}
	c := r.lock()
	c.core.EndBatch(&r.in.act.Intake, records)
	c.show()
	switch w := (*writer)(r); {
	case !c.core.TakeToken():
		c.unlock()
	case c.in.writesWait() || c.core.HasPending():
		// There is much to write, or each write waits, which must not keep the reader from reading.
		c.unlock()
		w.pass()
	default:
		c.unlockAndWrite()
	}
}

// checkEnd is called after each frame, with mu held. If no other frame has arrived, and the end of the
// batch has nothing to do except what the reader does itself from here on, then the end of the batch
// takes no lock.
func (r *reader) checkEnd(c *locked) {
	if r.in.act.skipsEnd = c.core.CanSkipEndBatch(&r.in.act.Intake); r.in.act.skipsEnd {
		c.core.SetHeard(true)
		c.show()
	}
}

// readerHas tells the core whether bytes behind the current frame are in the reader's buffer.
func (c *locked) readerHas(behind int) {
	if behind > 0 {
		c.core.SetReader(protocol.ReaderWorks)
	} else {
		c.core.SetReader(protocol.ReaderWaits)
	}
}

// retained returns the memory, in bytes, of an incomplete record that a layer such as TLS holds while
// it waits for the rest.
func (r *reader) retained() int {
	if !r.in.can.Has(readyreader.HoldsBytes) {
		return 0
	}
	return r.wire.Retained()
}

// wasQuiet reports whether err means only that the reader should check whether it can park: the sweeper
// interrupted the read, or the read returned ErrWouldBlock instead of waiting. The caller checks, and
// then reads again.
func (r *reader) wasQuiet(err error) bool {
	if errors.Is(err, readyreader.ErrWouldBlock) {
		return true
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	c := r.lock()
	defer c.unlock()
	if !r.quiet.take() {
		return false
	}
	r.in.swept = false
	c.core.Charge(&r.in.act.Intake)
	c.show()
	c.resetReadDeadline()
	return true
}

func unexpectedEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
