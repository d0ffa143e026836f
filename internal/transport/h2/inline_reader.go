// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"
	"os"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// InlineReader is the reader's role in the hands of a goroutine that waits for a message of a stream.
// The goroutine reads until it is woken, and gives the role back before it goes on. So when messages go
// back and forth on one stream, each message wakes only the goroutine that it is for.
//
// An InlineReader reads only whole frames that can be dealt with at once. For all others, and after any
// error, it gives the role to a goroutine that has nothing else to react to.
type InlineReader Conn

// Errors that end InlineReader.Read.
var (
	errWoken     = errors.New("woken")
	errNotInline = errors.New("not for an inline reader")
	errQuiet     = errors.New("no input for a while")
)

// InlineReader returns the reader's role, for a goroutine that waits for a message of s. It returns nil
// if the role is not available. A caller that gets the role calls Read, unless it need not wait any more,
// and then Leave.
func (s *Stream) InlineReader() *InlineReader {
	conn := s.conn
	if !conn.handle.Parked() { // usually somebody reads, which Parked tells without a lock
		return nil
	}
	c := conn.lock()
	may := conn.whoReads() == lent && c.core.OpenStreams() == 1
	c.unlock()
	if !may || !conn.handle.Take() {
		return nil
	}
	r := (*reader)(conn)
	r.activate(take) // the role was lent; the connection may have been parked for good meanwhile
	if conn.tracer() != nil {
		conn.traceEvent("taken", "")
	}
	return (*InlineReader)(conn)
}

// Wake ends Read: what the goroutine waited for is there. The caller holds the Receiver's lock. Wake
// must not be called after Leave.
func (i *InlineReader) Wake() {
	if (*Conn)(i).move(wake) == inlineWaits {
		i.wire.interrupt(&i.in.act.lending.cut) // there until Leave is called
	}
}

// Read reads frames until Wake is called, which may happen within Read as frames arrive, or until
// something else ends it. The caller passes the error to Leave.
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

// owes reports whether the peer has made us queue so much that the reader has to wait.
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

// maxInline is the largest payload of a frame that an InlineReader reads, in bytes. Such frames are
// read whole, and copied. The payload of longer frames is read directly to where it is wanted, while
// the goroutines that want it work.
const maxInline = 4 << 10

// isInline reports whether an InlineReader reads a frame with header h: one that can be dealt with at
// once.
func isInline(h frame.Header) bool {
	switch h.Type {
	case frame.Data, frame.WindowUpdate, frame.Ping:
		return h.Length <= maxInline
	}
	return false
}

// resetReadDeadline undoes what Wake has done to the deadline.
func (r *reader) resetReadDeadline() {
	c := r.lock()
	defer c.unlock()
	c.resetReadDeadline()
	if r.quiet.Load() { // this has cleared the sweeper's deadline, too, which the next reader needs
		c.interruptAsQuiet()
	}
}

// Leave gives the role back. err is the error of Read, nil if Read was not called, or ErrReaderLeft if it has
// not returned; then Leave is called by another goroutine. Wake must not be called any more.
func (i *InlineReader) Leave(err error) {
	r := (*reader)(i)
	if err == ErrReaderLeft {
		(*Conn)(i).move(arrive)
	}
	if r.in.act.lending.cut.Swap(false) {
		r.resetReadDeadline()
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
