// SPDX-License-Identifier: Apache-2.0

package h2

import "google.golang.org/grpc/internal/transport/h2/frame"

// minFrame is how much room a parcel must have left for more DATA to be added.
const minFrame = 1 << 10

// queue takes f for s, unless s can't send it any more.
func (c *locked) queue(s *stream, f *Frames) error {
	if !s.state.canSend() || c.life.dead() || s.pending != nil && s.pending.end {
		f.Data.Free()
		return ErrStreamDone
	}
	return c.encode(s, f)
}

// maxOptional is how many streams there may be where an optional body waits for the windows.
const maxOptional = 100

// encode makes frames of f for s, or queues what the windows do not let through.
func (c *locked) encode(s *stream, f *Frames) error {
	if c.life.mute {
		f.Data.Free()
		return nil // the reader is about to end the connection, and to tell all streams
	}
	if f.Optional && !c.sendsAtOnce(s, f.size()) &&
		(c.streams.open() > maxOptional || c.account.standing(c.out.cfg.maxHeld()) != solvent) {
		f.Data.Free()
		f.HasData, f.Data = false, Pieces{}
	}
	if f.Headers != nil {
		end := f.End && !f.HasData && f.Trailers == nil
		if err := c.encodeHeaders(s, f.Headers, end); err != nil {
			f.Data.Free()
			return err
		}
		if end {
			return nil
		}
	}
	if s.pending != nil {
		c.streams.push(s, f, c.out.cfg.Pool)
		return nil
	}
	if f.HasData {
		if !c.encodeData(s, f) {
			return nil
		}
	} else if f.End && f.Trailers == nil && f.Headers == nil {
		c.out.endOfData(s.id)
		c.endLocal(s)
	}
	if f.Trailers != nil {
		return c.encodeTrailers(s, f.Trailers)
	}
	return nil
}

// full reports whether a sender should wait before it queues more on s.
func (c *locked) full(s *stream) bool { return c.streams.isFull(s, c.out.cfg.maxQueued()) }

// encodeHeaders makes the fields of f a HEADERS frame of s.
func (c *locked) encodeHeaders(s *stream, f FieldSource, end bool) error {
	if max := c.out.maxHeaderList; max != noLimit {
		// The encoder's table can't be rolled back, so the size is counted
		// before the first field is encoded.
		if size := listSize(f); size > max {
			return &ErrHeaderListTooLarge{Size: size, Max: max}
		}
	}
	c.heart.worked = true
	c.out.headers(s.id, f, end)
	if end {
		c.endLocal(s)
	} else {
		s.on(sendHeaders)
	}
	c.out.freezeIfSlim()
	return nil
}

// encodeTrailers ends s. If the peer does not take that many fields s is reset.
func (c *locked) encodeTrailers(s *stream, f FieldSource) error {
	err := c.encodeHeaders(s, f, true)
	if err != nil {
		c.reset(s, frame.InternalError)
	}
	return err
}

// sendsAtOnce reports whether the windows and the parcel allow all of a message of size bytes.
func (c *locked) sendsAtOnce(s *stream, size int) bool {
	return s.pending == nil && c.streams.turns.empty() && size <= c.out.cfg.maxParcel()-c.out.buf.size() && size <= frame.MinMaxFrameSize &&
		uint32(size) <= s.out.Available(c.windows.Send())
}

// encodeData makes frames of the message in f as far as the windows and the parcel
// allow, and queues the rest. It reports whether all of it is encoded.
func (c *locked) encodeData(s *stream, f *Frames) bool {
	size := f.size()
	if !c.sendsAtOnce(s, size) {
		c.streams.push(s, f, c.out.cfg.Pool)
		c.streams.schedule(s)
		return false
	}
	c.sends(s)
	uncopied := c.wire.uncopied()
	if f.More > 0 {
		c.expect(f.copied(uncopied), f.More)
	}
	s.out.Take(c.windows.Send(), uint32(size))
	end := f.End && f.Trailers == nil
	out := &c.out.buf
	head := append(frame.AppendDataHeader(c.out.room(len(f.Prefix)), s.id, size, end), f.Prefix[:]...)
	out.held.b = head
	for d := range f.Data.All() {
		out.add(d, uncopied, c.out.cfg.Pool)
	}
	if end {
		c.endLocal(s)
	}
	return true
}

// sends precedes each DATA frame of s: window updates go with it.
func (c *locked) sends(s *stream) {
	if s.state.canRecv() {
		c.out.windowUpdate(s.id, s.company.Sends(&s.in))
	}
	if inc := c.windows.Sends(); inc > 0 {
		c.update(inc)
	}
	s.on(sendData)
	c.heart.worked = true
}

// update says that inc bytes more may be sent on the connection, and widens its window with that.
func (c *locked) update(inc uint32) {
	c.out.windowUpdate(0, inc+c.windows.Widen(c.out.cfg.wideWindow()))
}

// expect makes room for size bytes of a message, and for as many of those that follow as can be
// encoded. Without it the parcel would grow by moving, and all would be copied twice.
func (c *locked) expect(size, more int) {
	if c.out.buf.spare() >= frame.HeaderLen+size {
		return
	}
	n := min((more+1)*(frame.HeaderLen+size), c.out.cfg.maxParcel()-c.out.buf.size(), int(c.windows.Send().Window()))
	if n > 0 {
		c.out.buf.reserve(n, c.out.cfg.Pool)
	}
}

// fill moves waiting DATA into the parcel, one frame from each stream in turn.
func (c *locked) fill() {
	turns := &c.streams.turns
	uncopied := c.wire.uncopied()
	for !turns.empty() {
		room := c.out.cfg.maxParcel() - c.out.buf.size() - frame.HeaderLen
		if room < minFrame {
			return
		}
		s := turns.head
		q := s.pending
		n := min(q.size, int(s.out.Available(c.windows.Send())), int(c.out.maxFrame), room)
		if n == 0 && q.size > 0 {
			if s.out.Window() > 0 {
				return // the connection's window is used up
			}
			turns.remove(s)
			continue
		}
		c.sends(s)
		s.out.Take(c.windows.Send(), uint32(n))
		last := n == q.size
		end := last && q.end && q.trailers == nil
		c.out.buf.held.b = frame.AppendDataHeader(c.out.room(0), s.id, n, end)
		q.moveTo(&c.out.buf, n, uncopied, c.out.cfg.Pool)
		c.streams.queued -= uint32(n)
		if !c.full(s) {
			q.signalSpace()
		}
		if last {
			c.sentAll(s, end)
		} else {
			turns.rotate()
		}
	}
}

// sentAll follows the last byte that waited on s.
func (c *locked) sentAll(s *stream, ended bool) {
	c.streams.turns.remove(s)
	trailers := s.pending.trailers
	s.pending = nil
	switch {
	case ended:
		c.endLocal(s)
	case trailers != nil:
		// A failure here has reset the stream; Send has returned long ago.
		_ = c.encodeTrailers(s, trailers)
	}
}
