// SPDX-License-Identifier: Apache-2.0

package neighbour

import (
	"math/rand/v2"

	"google.golang.org/grpc/attack/internal/wire"
)

// script is what a neighbour sends: frames that could follow each other, of which some are left out,
// doubled, or have bytes changed.
type script struct {
	client bool
	b      []byte
	next   uint32 // stream
}

// newScript returns what a client of a server sends, or a server.
func newScript(client bool) []byte {
	s := script{client: client, next: 1}
	if client {
		s.b = append(s.b, wire.Preface...)
	}
	s.frame(wire.Frame{Type: wire.Settings, Payload: s.settings()})
	for range rand.N(30) {
		begin := len(s.b)
		s.step()
		switch rand.N(12) {
		case 0:
			s.b = s.b[:begin] // as if it had not been
		case 1:
			s.b = append(s.b, s.b[begin:]...)
		case 2:
			s.spoil(begin)
		}
	}
	if rand.N(4) == 0 {
		s.b = s.b[:rand.N(len(s.b))]
	}
	return s.b
}

func (s *script) frame(f wire.Frame) { s.b = wire.AppendFrame(s.b, f) }

func (s *script) settings() (p []byte) {
	for range rand.N(4) {
		id := 1 + rand.N(uint16(6))
		v := []uint32{0, 1, 100, 16384, 65535, 1 << 20}[rand.N(6)]
		p = wire.AppendSettings(p, wire.Setting{ID: id, Value: v})
	}
	return p
}

// stream is one that was opened, mostly.
func (s *script) stream() uint32 {
	if rand.N(20) == 0 {
		return rand.N(s.next + 10)
	}
	return 1 + 2*rand.N(s.next/2+1)
}

// step appends a frame or a few.
func (s *script) step() {
	switch rand.N(10) {
	case 0:
		s.frame(wire.Frame{Type: wire.Ping, Flags: rand.N(byte(2)), Payload: make([]byte, 8)})
	case 1:
		s.frame(wire.Frame{Type: wire.WindowUpdate, Stream: rand.N(uint32(2)) * s.stream(), Payload: wire.Uint32(rand.Uint32() >> rand.N(32))})
	case 2:
		s.frame(wire.Frame{Type: wire.RSTStream, Stream: s.stream(), Payload: wire.Uint32(rand.N(uint32(14)))})
	case 3:
		s.frame(wire.Frame{Type: wire.Settings, Flags: rand.N(byte(2)), Payload: s.settings()})
	case 4:
		s.frame(wire.Frame{Type: wire.GoAway, Payload: append(wire.Uint32(s.stream()), wire.Uint32(rand.N(uint32(14)))...)})
	case 5:
		s.frame(wire.Frame{Type: byte(rand.N(20)), Flags: byte(rand.N(256)), Stream: s.stream(), Payload: make([]byte, rand.N(40))})
	default:
		s.talk()
	}
}

// talk is a request, an answer, or a part of one.
func (s *script) talk() {
	message := wire.AppendMessage(nil, byte(rand.N(20)/19), make([]byte, rand.N(300)))
	id := s.next
	block := wire.Response()
	if s.client {
		block = wire.Request([]string{"/stress.Stress/Echo", "/stress.Stress/Chat", "/stress.Stress/Pull", "/none"}[rand.N(4)])
	}
	s.next += 2
	s.frame(wire.Frame{Type: wire.Headers, Flags: wire.EndHeaders, Stream: id, Payload: block})
	for range rand.N(3) {
		s.frame(wire.Frame{Type: wire.Data, Flags: rand.N(byte(2)), Stream: id, Payload: message})
	}
	if !s.client && rand.N(2) == 0 {
		s.frame(wire.Frame{Type: wire.Headers, Flags: wire.EndHeaders | wire.EndStream, Stream: id, Payload: wire.Trailers()})
	}
}

// spoil changes some bytes behind begin.
func (s *script) spoil(begin int) {
	for range 1 + rand.N(3) {
		if n := len(s.b) - begin; n > 0 {
			s.b[begin+rand.N(n)] ^= 1 << rand.N(8)
		}
	}
}
