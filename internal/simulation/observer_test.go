// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"encoding/binary"
	"time"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// observer reads what one end of a connection writes, and holds it against what the other has
// allowed so far. It shares no code with the connections but the names of frames.
type observer struct {
	s       *socket
	other   *observer
	preface int // bytes of it that are left
	head    []byte
	h       frame.Header
	payload []byte
	left    int // of a frame's payload

	last    frame.Type
	began   bool
	lastID  uint32
	lastBye uint32
	bye     bool // a GOAWAY was written
	streams map[uint32]*observed

	credit  int // of the connection: what WINDOW_UPDATE of this end has allowed, beyond the initial window
	data    int // bytes of DATA that this end has sent
	initial int // the largest initial window that this end has announced
	frames  int
	bytes   int
	pings   int       // that this end has written
	pongs   int       // answers to PINGs
	byeAt   time.Time // when the connection was first quiet between the two steps of a drain
}

// observed is a stream, as one end has written of it.
type observed struct {
	ended, reset bool
	data, credit int
}

func newObserver(s *socket) *observer {
	o := &observer{s: s, streams: map[uint32]*observed{}, initial: 65535, lastBye: 1<<31 - 1}
	if s.name[0] == 'c' {
		o.preface = len(frame.ClientPreface)
	}
	return o
}

func (o *observer) read(int) {}

func (o *observer) stream(id uint32) *observed {
	s := o.streams[id]
	if s == nil {
		s = new(observed)
		o.streams[id] = s
	}
	return s
}

func (o *observer) wrote(p []byte) {
	o.bytes += len(p)
	n := min(o.preface, len(p))
	o.preface -= n
	p = p[n:]
	for len(p) > 0 {
		if o.left == 0 {
			n := min(frame.HeaderLen-len(o.head), len(p))
			o.head = append(o.head, p[:n]...)
			if p = p[n:]; len(o.head) < frame.HeaderLen {
				return
			}
			o.h = frame.ParseHeader(o.head)
			o.head, o.payload = o.head[:0], o.payload[:0]
			if o.h.Type == frame.Data { // a receiver counts it from here on
				o.sends(o.h)
			}
			if o.left = int(o.h.Length); o.left > 0 {
				continue
			}
		}
		n := min(o.left, len(p))
		if o.h.Type != frame.Data {
			o.payload = append(o.payload, p[:n]...)
		}
		p = p[n:]
		if o.left -= n; o.left == 0 {
			o.frame()
		}
	}
}

func (o *observer) side() int {
	if o.s.name[0] == 'c' {
		return 0
	}
	return 1
}

func (o *observer) frame() {
	w, h, p := o.s.w, o.h, o.payload
	o.frames++
	w.note(o.s, "writes %v on %d, flags %x, %d bytes", h.Type, h.StreamID, h.Flags, h.Length)
	if h.Type >= frameTypes {
		w.fail("%s writes a frame of type %v", o.s.name, h.Type)
		return
	}
	w.visit(firstFrame + point(o.side()*frameTypes+int(h.Type)))
	if o.began {
		w.visit(firstPair + point((o.side()*frameTypes+int(o.last))*frameTypes+int(h.Type)))
	} else if h.Type != frame.Settings {
		w.fail("%s begins with %v", o.s.name, h.Type)
	}
	o.began, o.last = true, h.Type
	switch h.Type {
	case frame.Data, frame.Headers:
		o.carries(h)
	case frame.RSTStream:
		s := o.stream(h.StreamID)
		if s.reset {
			w.fail("%s resets stream %d twice", o.s.name, h.StreamID)
		}
		s.reset = true
	case frame.WindowUpdate:
		o.update(h, binary.BigEndian.Uint32(p)&(1<<31-1))
	case frame.Settings:
		for ; len(p) >= 6; p = p[6:] {
			if frame.SettingID(binary.BigEndian.Uint16(p)) == frame.InitialWindowSize {
				o.initial = max(o.initial, int(binary.BigEndian.Uint32(p[2:])))
			}
		}
	case frame.Ping:
		if h.Flags.Has(frame.FlagAck) {
			o.pongs++
		} else {
			o.pings++
		}
	case frame.GoAway:
		last := binary.BigEndian.Uint32(p) & (1<<31 - 1)
		if last > o.lastBye {
			w.fail("%s takes leave with stream %d after %d", o.s.name, last, o.lastBye)
		}
		o.lastBye, o.bye = last, true
	}
	if o.frames > 4096+8*o.other.frames {
		w.fail("%s writes %d frames for %d", o.s.name, o.frames, o.other.frames)
	}
}

// carries follows DATA and HEADERS.
func (o *observer) carries(h frame.Header) {
	w, s := o.s.w, o.stream(h.StreamID)
	switch {
	case s.ended:
		w.fail("%s writes %v on stream %d, which it has ended", o.s.name, h.Type, h.StreamID)
	case s.reset:
		w.fail("%s writes %v on stream %d, which it has reset", o.s.name, h.Type, h.StreamID)
	case h.Type == frame.Headers && o.side() == 0 && h.StreamID <= o.lastID:
		w.fail("the client opens stream %d after %d", h.StreamID, o.lastID)
	case h.Type == frame.Headers:
		o.lastID = max(o.lastID, h.StreamID)
	}
	if h.Flags.Has(frame.FlagEndStream) {
		s.ended = true
	}
}

// sends follows the header of DATA.
func (o *observer) sends(h frame.Header) {
	w, s := o.s.w, o.stream(h.StreamID)
	o.data += int(h.Length)
	s.data += int(h.Length)
	if o.data > 65535+o.other.credit {
		w.fail("%s sends %d bytes, the connection's window was %d", o.s.name, o.data, 65535+o.other.credit)
	}
	if most := o.other.initial + o.other.stream(h.StreamID).credit; s.data > most {
		w.fail("%s sends %d bytes on stream %d, whose window was %d", o.s.name, s.data, h.StreamID, most)
	}
}

func (o *observer) update(h frame.Header, n uint32) {
	w := o.s.w
	if n == 0 {
		w.fail("%s sends a window update of 0", o.s.name)
	}
	if h.StreamID > 0 {
		o.stream(h.StreamID).credit += int(n)
		return
	}
	o.credit += int(n)
	if w.swarm.has(staticWindow) && o.credit > o.other.data {
		w.fail("%s gives back %d bytes of %d that it was sent", o.s.name, o.credit, o.other.data)
	}
}

// checkResets looks at the streams of a connection that is quiet: where the server has ended one and
// the client has not, both have said that nothing more is to come. RFC 9113, section 8.1.
func (o *observer) checkResets(server *observer) {
	for id, s := range server.streams {
		c := o.streams[id]
		if c == nil || !s.ended || c.ended {
			continue
		}
		if !s.reset || !c.reset {
			o.s.w.fail("stream %d is ended by the server and not by the client, and was reset: %v, %v", id, s.reset, c.reset)
		}
	}
}
