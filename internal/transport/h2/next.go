// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/protocol"
)

// A message mostly arrives with the field block before it. The reader counts its frame when it has
// the lock for the block, so that a small call takes that once less.

// counted is what core.OnData returned for the DATA frame that is read next, if there is one.
type counted struct {
	s    *protocol.Stream // nil also if that is over since
	kind protocol.EndKind
	err  error
	is   bool
}

// peekNext looks at what has arrived behind the HEADERS frame b, and returns b.
func (r *reader) peekNext(b []byte) []byte {
	a, n := r.in.act, len(b)
	if a.behind >= frame.HeaderLen {
		b, _ = a.rd.Peek(n + frame.HeaderLen) // no more than is there
		a.follower = frame.ParseHeader(b[n:])
	}
	return b[:n]
}

// countNext counts the DATA frame behind the block at hand, with mu, if that is of the same stream, keeps the
// rules, and has arrived whole.
func (r *reader) countNext(c *locked, b protocol.Block) {
	a := r.in.act
	h, buffered := a.follower, a.behind-frame.HeaderLen
	if !b.End && h.StreamID == b.ID && isPlainData(h) && buffered >= int(h.Length) && c.mayCount(h) {
		c.readerHas(buffered - int(h.Length))
		a.counted.is = true
		a.counted.s, a.counted.kind, a.counted.err = c.core.OnData(&a.Intake, h, buffered)
		r.checkEnd(c)
		return
	}
	c.readerHas(a.behind)
	r.checkEnd(c)
}

// isPlainData reports whether a frame is a piece of a body and nothing else.
func isPlainData(h frame.Header) bool {
	return h.Type == frame.Data && h.Length > 0 && !h.Flags.Has(frame.FlagPadded)
}

// mayCount reports whether a frame may be counted before the block in front of it is delivered: what is
// wrong with that resets the stream, which has not ended then.
func (c *locked) mayCount(h frame.Header) bool {
	ends := c.core.Side() == protocol.Client && h.Flags.Has(frame.FlagEndStream)
	return !ends && h.Check(c.core.Config().FrameLimit()) == nil
}
