// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"
	"os"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// InlineReader is the reader's role in the hands of a goroutine that waits for a message of a stream. It
// reads until it is woken, and gives the role back before it goes on: so where messages go to and
// fro on one stream nobody has to be woken for each of them but the one it is for.
//
// What it reads are frames that can be dealt with at once, and those whole: for all others, and
// for whatever goes wrong, it gives the role to a goroutine that has nothing else to heed.
type InlineReader Conn

// Errors that end InlineReader.Read.
var (
	errWoken     = errors.New("woken")
	errNotInline = errors.New("not for an inline reader")
	errQuiet     = errors.New("no input for a while")
)

// InlineReader returns the reader's role, for a goroutine that waits for a message of s; nil if it is not
// to be had. Read and Leave follow.
func (s *Stream) InlineReader() *InlineReader {
	conn := s.conn
	if !conn.handle.Parked() { // mostly somebody reads: to know that takes no lock
		return nil
	}
	c := conn.lock()
	may := conn.whoReads() == lent && c.core.OpenStreams() == 1
	c.unlock()
	if !may || !conn.handle.Take() {
		return nil
	}
	r := (*reader)(conn)
	r.activate(take) // it was lent, and perhaps parked for good meanwhile
	if conn.tracer() != nil {
		conn.traceEvent("taken", "")
	}
	return (*InlineReader)(conn)
}

// Wake ends Read: what was waited for is there. It is for a holder of the Receiver's lock,
// until Leave is called.
func (i *InlineReader) Wake() {
	if (*Conn)(i).move(wake) == inlineWaits {
		i.wire.interrupt(&i.in.act.lending.cut) // there until Leave is called
	}
}

// Read reads until Wake is called, which it may do itself, as frames arrive, or until something
// comes in between. The error is for Leave.
func (i *InlineReader) Read() error {
	r := (*reader)(i)
	for {
		if err := r.awaitInline(); err != nil {
			return err
		}
		if err := r.readFrame(); err != nil {
			if err = r.violation(err); err != nil {
				return err
			}
		}
		if a := r.in.act; a.OverLimit || a.Induced && r.owes() {
			return errNotInline
		}
	}
}

// owes reports whether so much is queued for the peer's sake that the reader has to wait.
func (r *reader) owes() bool {
	c := r.lock()
	defer c.unlock()
	r.in.act.Induced = c.core.OverBudget(false)
	return r.in.act.Induced
}

// awaitInline waits until the next frame has arrived whole.
func (r *reader) awaitInline() error {
	rd, conn := r.in.act.rd, (*Conn)(r)
	for {
		n := frame.HeaderLen
		if rd.Buffered() >= n {
			b, _ := rd.Peek(n)
			h := frame.ParseHeader(b)
			if !isInline(h) || r.in.act.InsideBlock() {
				return errNotInline
			}
			if n += int(h.Length); rd.Buffered() >= n {
				return nil
			}
		}
		r.endBatch()
		if r.atBoundary() {
			r.watch()
		}
		if conn.move(wait) != inlineReads {
			return errWoken
		}
		_, err := rd.Peek(n)
		over := conn.move(arrive) != inlineWaits
		switch {
		case err == nil:
			r.resume()
		case over && errors.Is(err, os.ErrDeadlineExceeded):
			return errWoken
		case r.wasQuiet(err):
			return errQuiet
		default:
			return err
		}
	}
}

// maxInline is how long a frame may be that is read whole, and copied from there. What is longer is
// read to where it is wanted, while those who want it are at work.
const maxInline = 4 << 10

// isInline reports whether a frame is for an InlineReader: it can be dealt with at once.
func isInline(h frame.Header) bool {
	switch h.Type {
	case frame.Data, frame.WindowUpdate, frame.Ping:
		return h.Length <= maxInline
	}
	return false
}

// Leave gives the role back, with what Read returned, or nil without it. Nobody calls Wake any
// more.
func (i *InlineReader) Leave(err error) {
	r := (*reader)(i)
	if r.in.act.lending.cut.Swap(false) {
		c := r.lock()
		c.resetReadDeadline()
		c.unlock()
		if r.quiet.Load() { // the sweeper's deadline may be gone, too; the next reader heeds it
			r.wire.interrupt(&r.quiet)
		}
	}
	l := &r.in.act.lending
	switch {
	case err == nil, err == errWoken:
		if err != nil {
			l.served()
		}
		l.asked = true
		if r.atBoundary() && r.lend() {
			return
		}
	case err == errNotInline:
		l.missed()
	case err == errQuiet:
		if r.atBoundary() {
			r.in.predictor.recordMiss()
			if isParked(r.park()) {
				return
			}
		}
	default:
		r.in.act.failed = err
	}
	r.ground().Go(r)
}
