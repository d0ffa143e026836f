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

// A batch is what the reader does between two waits for input. Frames that it queues
// meanwhile are written when the batch ends: each wait begins with endBatch and ends with
// resume.

// await returns the next n bytes, without taking them.
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

// skip drops the next n bytes.
func (r *reader) skip(n int) error {
	for n > 0 {
		if r.in.act.rd.Buffered() < n {
			r.endBatch()
		}
		k, err := r.in.act.rd.Discard(n)
		r.resume()
		r.in.act.skipsEnd = false // something was heard
		n -= k
		if err != nil && !r.wasQuiet(err) {
			return unexpectedEOF(err)
		}
	}
	return nil
}

// resume begins a batch, if there is none: everything that is done from here on
// is sent at its end at the latest. It follows each wait.
func (r *reader) resume() {
	if a := r.in.act; !a.batch {
		a.batch = true
		a.Now = time.Duration(clock.Now())
		a.entry.Touch()
		ballast.Busy()
		r.heardAt(int64(a.Now))
	}
}

// heardAt notes when input came, for those who ask. Where more would have come, had the reader of
// a new connection waited, the connection becomes less new.
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

// endBatch runs when everything read so far has been dealt with and the reader
// is about to wait: what was queued is written, and a task that launch kept is started.
func (r *reader) endBatch() {
	r.finishBatch()
	r.launchNext()
}

// finishBatch is endBatch for a reader that may park, and run the task itself.
func (r *reader) finishBatch() {
	if !r.in.act.batch {
		return
	}
	r.in.act.batch = false
	r.handler.BatchEnd()
	records := r.retained()
	if a := r.in.act; a.skipsEnd && records == 0 && a.IsCharged(r.in.swept) {
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

// checkEnd follows each frame, with mu: if no other has arrived, and nothing is left to do at the end of the
// batch but what the reader does from here on, that takes no lock.
func (r *reader) checkEnd(c *locked) {
	if r.in.act.skipsEnd = c.core.CanSkipEndBatch(&r.in.act.Intake); r.in.act.skipsEnd {
		c.core.SetHeard(true)
		c.show()
	}
}

// readerHas says how many bytes behind the frame at hand the reader has.
func (c *locked) readerHas(behind int) {
	if behind > 0 {
		c.core.SetReader(protocol.ReaderWorks)
	} else {
		c.core.SetReader(protocol.ReaderWaits)
	}
}

// retained is the memory, in bytes, of an incomplete record that a layer such as TLS holds
// while it waits for the rest.
func (r *reader) retained() int {
	if !r.in.can.Has(readyreader.HoldsBytes) {
		return 0
	}
	return r.wire.Retained()
}

// wasQuiet reports whether a read failed because the sweeper interrupted it, or because it need not
// wait, for the reader to see whether it can park; the read is then to be repeated.
func (r *reader) wasQuiet(err error) bool {
	if errors.Is(err, readyreader.ErrWouldBlock) {
		return true
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) || !r.quiet.take() {
		return false
	}
	r.in.swept = false
	c := r.lock()
	defer c.unlock()
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
