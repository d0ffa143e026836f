// SPDX-License-Identifier: Apache-2.0

package oneport

import (
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/hpack"
)

// verdict says which server a connection is for.
type verdict uint8

const (
	unknown verdict = iota
	forHTTP
	forGRPC
)

const (
	// maxUndecided limits how many bytes a client may send before it is clear which server the
	// connection is for. After that it goes to the http.Server, which has limits of its own.
	maxUndecided = 64 << 10
	// maxOwed limits how many more bytes a client may send before it acknowledges the port's
	// SETTINGS. Bodies stop at the 64 KiB of the default window.
	maxOwed = 96 << 10
	// maxFields limits the fields that are examined, in bytes as HTTP/2 counts them.
	maxFields = 64 << 10
)

// sniffer finds out which server a connection is for, from what the client sends. It does no I/O.
//
//	beginning   the preface of HTTP/2 may still come
//	opening     the first frame has to be SETTINGS
//	waiting     for the first HEADERS; the client may be waiting for the server's SETTINGS
//	fields      for the rest of the field block
//	decided     v is the verdict; frames are parsed only while owed is true
type sniffer struct {
	seen []byte // what the client sent, without acknowledgements of the port's SETTINGS
	at   int    // how many bytes of seen have been processed
	step step
	v    verdict
	owed bool // the port has sent SETTINGS that the client has not acknowledged

	stream uint32 // the stream of the field block
	dec    hpack.Decoder
	list   hpack.List
	listed int    // the size of the fields examined so far, in bytes as HTTP/2 counts them
	part   []byte // the beginning of a field,
	need   int    // and how long it has to be before decoding it again is worth while
}

type step uint8

const (
	beginning step = iota
	opening
	waiting
	fields
	decided
)

// add processes p, which the client sent next.
func (s *sniffer) add(p []byte) {
	s.seen = append(s.seen, p...)
	if s.step == beginning {
		s.preface()
	}
	if s.step == beginning {
		return
	}
	for (s.step != decided || s.owed) && s.frame() {
	}
	if s.step != decided && len(s.seen) > maxUndecided {
		s.decide(forHTTP)
	}
}

// isDone reports whether the connection can be passed on.
func (s *sniffer) isDone() bool { return s.step == decided && !s.owed }

// isStuck reports whether the client sends too much without acknowledging SETTINGS.
func (s *sniffer) isStuck() bool { return s.owed && len(s.seen) > maxUndecided+maxOwed }

// mayWait reports whether the client has sent all that it can send before the server's SETTINGS.
func (s *sniffer) mayWait() bool { return s.step == waiting && s.at == len(s.seen) }

// isHTTP2 reports whether the client speaks HTTP/2.
func (s *sniffer) isHTTP2() bool { return s.at >= len(frame.ClientPreface) }

// giveUp decides because there is no more time.
func (s *sniffer) giveUp() {
	switch {
	case s.step == decided:
	case s.mayWait():
		s.decide(forGRPC)
	default:
		s.decide(forHTTP)
	}
}

func (s *sniffer) decide(v verdict) { s.step, s.v = decided, v }

func (s *sniffer) preface() {
	n := min(len(s.seen), len(frame.ClientPreface))
	switch {
	case string(s.seen[:n]) != frame.ClientPreface[:n]:
		s.decide(forHTTP)
	case n == len(frame.ClientPreface):
		s.at, s.step = n, opening
	}
}

// frame processes the next frame. It returns false if the frame is not complete, or breaks a rule.
func (s *sniffer) frame() bool {
	rest := s.seen[s.at:]
	if len(rest) < frame.HeaderLen {
		return false
	}
	h := frame.ParseHeader(rest)
	if h.Length > frame.MinMaxFrameSize {
		s.offend()
		return false
	}
	end := frame.HeaderLen + int(h.Length)
	if len(rest) < end {
		return false
	}
	if s.owed && isAck(h) && s.step != opening && s.step != fields {
		s.owed = false
		s.seen = append(s.seen[:s.at], rest[end:]...)
		return true
	}
	s.at += end
	if s.step != decided {
		s.next(h, rest[frame.HeaderLen:end])
	}
	return true
}

// isAck reports whether h is an acknowledgement of SETTINGS. A frame with a payload or a stream is none: the
// server will refuse it (RFC 9113 section 6.5).
func isAck(h frame.Header) bool {
	return h.Type == frame.Settings && h.Flags.Has(frame.FlagAck) && h.Length == 0 && h.StreamID == 0
}

// offend passes a client that breaks a rule on to the http.Server, which will tell the client.
func (s *sniffer) offend() {
	s.owed = false
	if s.step != decided {
		s.decide(forHTTP)
	}
}

// next processes a frame that comes before the decision. p is the payload, a part of seen.
func (s *sniffer) next(h frame.Header, p []byte) {
	switch {
	case s.step == opening:
		if h.Type != frame.Settings || h.Flags.Has(frame.FlagAck) {
			s.offend()
			return
		}
		s.step = waiting
	case s.step == fields:
		if h.Type != frame.Continuation || h.StreamID != s.stream {
			s.offend()
			return
		}
		s.fields(p, h.Flags.Has(frame.FlagEndHeaders))
	case h.Type == frame.Headers:
		f, err := frame.ParseHeaders(h, p)
		if err != nil {
			s.offend()
			return
		}
		s.step, s.stream, s.listed = fields, h.StreamID, 0
		s.list.Reset(maxFields)
		s.fields(f.Fragment, f.EndHeaders)
	case h.Type == frame.Data, h.Type == frame.Continuation, h.Type == frame.RSTStream:
		s.offend()
	}
}

// fields looks for the content type in p, the next part of a field block.
func (s *sniffer) fields(p []byte, last bool) {
	s.part = append(s.part, p...)
	if len(s.part) < s.need && !last {
		return // the field is not complete: each frame may bring only one octet of it
	}
	n, need, err := s.dec.DecodePart(s.part, &s.list, !last)
	if err != nil {
		s.offend()
		return
	}
	s.part, s.need = append(s.part[:0], s.part[n:]...), need
	for i := range s.list.Len() {
		if string(s.list.Name(i)) == "content-type" {
			s.decide(kindOf(string(s.list.Value(i))))
			return
		}
	}
	s.listed += s.list.Size()
	if last || s.listed > maxFields {
		s.decide(forHTTP)
		return
	}
	// Drop the fields that have been examined: a peer may send many of them in a few bytes.
	s.list.Release()
	s.list.Reset(uint32(maxFields - s.listed))
}

// kindOf returns the verdict for a request with this content type.
func kindOf(contentType string) verdict {
	if _, ok := grpcwire.ParseContentType(contentType); ok {
		return forGRPC
	}
	return forHTTP
}
