// SPDX-License-Identifier: Apache-2.0

package protocol

import "google.golang.org/grpc/internal/transport/h2/frame"

// minFrame is how much room a parcel must have left for more DATA to be added.
const minFrame = 1 << 10

// Queue takes f for s. It returns ErrStreamDone if s can no longer send f. Pieces of at least uncopied
// bytes are sent from where they are; shorter ones are copied. f.Data belongs to c from the call on,
// also after an error.
func (c *Conn) Queue(s *Stream, f *Frames, uncopied int) error {
	if !s.state.canSend() || c.life.dead() || s.pending != nil && s.pending.end {
		f.Data.Free()
		return ErrStreamDone
	}
	return c.encode(s, f, uncopied)
}

// maxOptional is how many streams may be open while an optional body still waits for the windows.
const maxOptional = 100

// encode encodes the frames of f for s, or queues what the windows do not let through.
func (c *Conn) encode(s *Stream, f *Frames, uncopied int) error {
	if c.life.mute {
		f.Data.Free()
		return nil // the reader is about to end the connection, and to tell all streams
	}
	if f.Optional && !c.sendsAtOnce(s, f.size()) &&
		(c.streams.open() > maxOptional || c.account.limitState(c.out.cfg.maxHeld()) != withinLimit) {
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
		if !c.encodeData(s, f, uncopied) {
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

// ease wakes the senders that wait although their streams have room, when the connection has some again. Whatever lowers
// what is queued calls it. All senders may wait, and are woken together, so it waits for more room than one message
// takes. Senders whose own data moves are woken earlier, by fill.
func (c *Conn) ease() {
	bound := c.out.cfg.maxQueued()
	if c.streams.waits&sendersWait == 0 || int64(c.streams.queued) >= bound-bound/8 {
		return
	}
	c.streams.waits &^= sendersWait
	for s := range c.streams.byID.all() {
		if s.pending != nil && !c.Full(s) {
			s.pending.signalSpace()
		}
	}
}

// Full reports whether a sender should wait before it queues more on s.
func (c *Conn) Full(s *Stream) bool { return c.streams.isFull(s, c.out.cfg.maxQueued()) }

// encodeHeaders encodes the fields of f as a HEADERS frame of s.
func (c *Conn) encodeHeaders(s *Stream, f FieldSource, end bool) error {
	if max := c.out.maxHeaderList; max != noLimit {
		// The encoder's table can't be rolled back, so the size is counted
		// before the first field is encoded.
		if size := listSize(f); size > max {
			return &ErrHeaderListTooLarge{Size: size, Max: max}
		}
	}
	c.worked = true
	c.out.headers(s.id, f, end)
	if end {
		c.endLocal(s)
	} else {
		s.on(sendHeaders)
	}
	c.out.freezeIfSlim()
	return nil
}

// encodeTrailers sends f and ends s. If the list is too large for the peer, it resets s.
func (c *Conn) encodeTrailers(s *Stream, f FieldSource) error {
	err := c.encodeHeaders(s, f, true)
	if err != nil {
		c.reset(s, frame.InternalError)
	}
	return err
}

// sendsAtOnce reports whether the windows and the parcel have room for a whole message of size bytes.
func (c *Conn) sendsAtOnce(s *Stream, size int) bool {
	return s.pending == nil && c.streams.scheduler.empty() && size <= c.out.cfg.maxParcel()-c.out.buf.Size() && size <= frame.MinMaxFrameSize &&
		uint32(size) <= s.out.Available(c.windows.Send())
}

// encodeData encodes the message in f if the windows and the parcel have room for all of it, and queues
// it otherwise. It reports whether it has encoded it.
func (c *Conn) encodeData(s *Stream, f *Frames, uncopied int) bool {
	size := f.size()
	if !c.sendsAtOnce(s, size) {
		c.streams.push(s, f, c.out.cfg.Pool)
		c.streams.schedule(s)
		return false
	}
	c.sends(s)
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

// sends is called before each DATA frame of s is encoded: window updates go out with it.
func (c *Conn) sends(s *Stream) {
	if s.state.canRecv() {
		c.out.windowUpdate(s.id, s.piggyback.Sends(&s.in))
	}
	if inc := c.windows.Sends(); inc > 0 {
		c.update(inc)
	}
	s.on(sendData)
	c.worked = true
}

// update queues a window update that lets the peer send inc more bytes on the connection, and widens
// the window with the same update if it is narrow.
func (c *Conn) update(inc uint32) {
	c.out.windowUpdate(0, inc+c.windows.Widen(c.out.cfg.wideWindow()))
}

// expect makes room in the parcel for a message of size bytes, and for as many of the next more
// messages as can be encoded. Without it the parcel would grow step by step, and its bytes would be
// copied twice.
func (c *Conn) expect(size, more int) {
	if c.out.buf.spare() >= frame.HeaderLen+size {
		return
	}
	n := min((more+1)*(frame.HeaderLen+size), c.out.cfg.maxParcel()-c.out.buf.Size(), int(c.windows.Send().Window()))
	if n > 0 {
		c.out.buf.reserve(n, c.out.cfg.Pool)
	}
}

// TakeToken takes the write token, for a caller that will call Take. It returns false if somebody has
// the token, if there is nothing to write, or if the reader will soon write what is queued.
func (c *Conn) TakeToken() bool {
	if c.out.token != tokenFree || c.out.reader == ReaderWorks || !c.sendable() {
		return false
	}
	c.out.token = tokenHeld
	return true
}

// Encoded returns how many bytes of encoded frames are queued.
func (c *Conn) Encoded() int { return c.out.buf.Size() }

// HasPending reports whether DATA is queued on a stream whose own window has room for it.
func (c *Conn) HasPending() bool { return !c.streams.scheduler.empty() }

// sendable reports whether there is anything to write right now.
func (c *Conn) sendable() bool {
	return !c.out.buf.empty() || !c.streams.scheduler.empty() && c.windows.Send().Window() > 0
}

// Take returns the next parcel to write, for the holder of the write token. The parcel belongs to the
// caller. If there is nothing to write, ok is false, and Take has given the token back.
func (c *Conn) Take(uncopied int) (p Parcel, ok bool) {
	if c.life.dead() {
		c.out.buf.Free(c.out.cfg.Pool)
	} else {
		c.fill(uncopied)
		c.ease()
	}
	if c.out.buf.empty() {
		c.out.token = tokenFree
		c.end.signalFlush()
		c.Finish()
	}
	if c.out.buf.empty() { // unless there was a farewell to say
		return Parcel{}, false
	}
	c.out.token = tokenHeld
	c.wakeReader()
	return c.out.take(), true
}

// LoosenToken makes the write token loose, if the parcel that Take has just returned is the last one, as far as
// is known: another Take would only give the token back. The holder of a loose token may give it back without the
// lock. SettleToken must be called before any other method of c. LoosenToken reports whether the token is loose.
func (c *Conn) LoosenToken() bool {
	if c.sendable() || c.life.exit != staying || c.end != nil && c.end.flushed != nil {
		return false
	}
	c.out.token = tokenLoose
	return true
}

// TokenIsLoose reports whether SettleToken has to follow.
func (c *Conn) TokenIsLoose() bool { return c.out.token == tokenLoose }

// SettleToken ends the time in which the token is loose. givenBack says whether the holder has given the token back. If it has not,
// it must call Take again.
func (c *Conn) SettleToken(givenBack bool) {
	if c.out.token = tokenHeld; givenBack {
		c.out.token = tokenFree
	}
}

// WriteFailed records that a write has failed with err. Nothing is written from then on.
func (c *Conn) WriteFailed(err error) {
	c.ending().writeErr = &IOError{Op: "write", Err: err}
	c.life.silence()
	c.DropOutput()
	c.end.signalFlush()
	c.wakeReader()
}

// WriteError returns an IOError with the error that WriteFailed was given.
func (c *Conn) WriteError() error { return c.end.writeErr }

// DropOutput frees what is queued, unless the holder of the write token will do so.
func (c *Conn) DropOutput() {
	if c.out.token == tokenFree || c.life.mute {
		c.out.drop()
	}
}

// fill moves waiting DATA into the parcel, one frame from each stream in turn.
func (c *Conn) fill(uncopied int) {
	ring := &c.streams.scheduler
	for !ring.empty() {
		room := c.out.cfg.maxParcel() - c.out.buf.Size() - frame.HeaderLen
		if room < minFrame {
			return
		}
		s := ring.head
		q := s.pending
		n := min(q.size, int(s.out.Available(c.windows.Send())), int(c.out.maxFrame), room)
		if n == 0 && q.size > 0 {
			if s.out.Window() > 0 {
				return // the connection's window is used up
			}
			ring.remove(s)
			continue
		}
		c.sends(s)
		s.out.Take(c.windows.Send(), uint32(n))
		last := n == q.size
		end := last && q.end && q.trailers == nil
		c.out.buf.held.b = frame.AppendDataHeader(c.out.room(0), s.id, n, end)
		q.moveTo(&c.out.buf, n, uncopied, c.out.cfg.Pool)
		c.streams.queued -= uint32(n)
		if !c.Full(s) {
			q.signalSpace()
		}
		if last {
			c.sentAll(s, end)
		} else {
			ring.rotate()
		}
	}
}

// sentAll is called when the last byte that waited on s is in a parcel. ended says that END_STREAM went
// with it.
func (c *Conn) sentAll(s *Stream, ended bool) {
	c.streams.scheduler.remove(s)
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
