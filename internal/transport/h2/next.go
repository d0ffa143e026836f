// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/protocol"
)

// A message usually arrives together with the field block before it. The reader counts the message's
// DATA frame when it has the lock for the block, so that a small call takes the lock once less.

// counted is what core.OnData returned for the next DATA frame, if that was counted already.
type counted struct {
	s    *protocol.Stream // nil also if the stream is over by now
	kind protocol.EndKind
	err  error
	is   bool
}

// peekNext parses the header that has arrived behind the HEADERS frame b, if one has. It returns b.
func (r *reader) peekNext(b []byte) []byte {
	a, n := r.in.act, len(b)
	if a.behind >= frame.HeaderLen {
		b, _ = a.rd.Peek(n + frame.HeaderLen) // these bytes are buffered: Peek does not wait
		a.follower = frame.ParseHeader(b[n:])
	}
	return b[:n]
}

// countNext counts the DATA frame behind the current block, with mu held, if that frame is for the same
// stream, obeys the rules, and has arrived whole.
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

// isPlainData reports whether h is a DATA frame with a part of a body and no padding.
func isPlainData(h frame.Header) bool {
	return h.Type == frame.Data && h.Length > 0 && !h.Flags.Has(frame.FlagPadded)
}

// mayCount reports whether a frame may be counted before the block in front of it is delivered. On a
// client, a frame that ends its stream may not: if the Receiver objects to the block the stream is
// reset, and must not have ended by then.
func (c *locked) mayCount(h frame.Header) bool {
	ends := c.core.Side() == protocol.Client && h.Flags.Has(frame.FlagEndStream)
	return !ends && h.Check(c.core.Config().FrameLimit()) == nil
}
