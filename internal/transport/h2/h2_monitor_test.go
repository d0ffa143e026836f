// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/protocol"
)

// monitor holds what a connection sends to the MUSTs of RFC 9113. The harness shows it every
// frame that the connection under test sends in any test.
type monitor struct {
	side     protocol.Side
	maxFrame uint32 // that the peer allows; 0 stands for the protocol's
	begun    bool
	block    uint32 // the stream of a field block that goes on
	last     uint32 // the newest stream that a client has opened
	said     bool   // a GOAWAY
	goAway   uint32 // what the last one said
	ended    map[uint32]bool
	reset    map[uint32]bool
}

// Flags that a type of frame has.
var definedFlags = map[frame.Type]frame.Flags{
	frame.Data:         frame.FlagEndStream | frame.FlagPadded,
	frame.Headers:      frame.FlagEndStream | frame.FlagEndHeaders | frame.FlagPadded | frame.FlagPriority,
	frame.Settings:     frame.FlagAck,
	frame.Ping:         frame.FlagAck,
	frame.Continuation: frame.FlagEndHeaders,
}

// check looks at the next frame, and says which section it breaks, or nothing.
func (m *monitor) check(b []byte) string {
	h, p := frame.ParseHeader(b), b[frame.HeaderLen:]
	begun := m.begun
	m.begun = true
	switch {
	case !begun && (h.Type != frame.Settings || h.Flags.Has(frame.FlagAck)):
		return "3.4 the first frame is not SETTINGS"
	case h.Type > frame.Continuation:
		return "4.1 a type that the peer may not know"
	case h.Flags&^definedFlags[h.Type] != 0:
		return "4.1 a flag that the frame does not have"
	case b[5]&0x80 != 0:
		return "4.1 the reserved bit is set"
	case h.Length > max(m.maxFrame, frame.MinMaxFrameSize):
		return "4.2 a frame larger than allowed"
	case m.block != 0 && (h.Type != frame.Continuation || h.StreamID != m.block):
		return "6.10 a frame within a field block"
	}
	if h.StreamID != 0 {
		return m.checkStream(h, p)
	}
	return m.checkConn(h, p)
}

// checkConn is check for stream 0.
func (m *monitor) checkConn(h frame.Header, p []byte) string {
	switch h.Type {
	case frame.Settings:
		return m.checkSettings(h, p)
	case frame.Ping:
		if len(p) != 8 {
			return "6.7 a PING of a wrong length"
		}
	case frame.GoAway:
		if len(p) < 8 {
			return "6.8 a GOAWAY that is too short"
		}
		last := binary.BigEndian.Uint32(p)
		if m.said && last > m.goAway {
			return "6.8 the last stream rises"
		}
		m.said, m.goAway = true, last
	case frame.WindowUpdate:
		return checkIncrement(p)
	default:
		return "6 a frame of streams on stream 0"
	}
	return ""
}

func (m *monitor) checkSettings(h frame.Header, p []byte) string {
	ack := h.Flags.Has(frame.FlagAck)
	if ack && len(p) > 0 || len(p)%6 != 0 {
		return "6.5 SETTINGS of a wrong length"
	}
	for ; len(p) > 0; p = p[6:] {
		s := frame.Setting{ID: frame.SettingID(binary.BigEndian.Uint16(p)), Value: binary.BigEndian.Uint32(p[2:])}
		if s.Check() != nil || m.side == protocol.Server && s.ID == frame.EnablePush && s.Value != 0 {
			return "6.5.2 a value that is not allowed"
		}
	}
	return ""
}

func checkIncrement(p []byte) string {
	if len(p) != 4 || p[0]&0x80 != 0 || binary.BigEndian.Uint32(p) == 0 {
		return "6.9 a window that does not grow"
	}
	return ""
}

// checkStream is check for any other stream.
func (m *monitor) checkStream(h frame.Header, p []byte) string {
	id := h.StreamID
	if id%2 == 0 {
		return "5.1.1 a stream that only a server may open"
	}
	if m.side == protocol.Client && id > m.last {
		if h.Type != frame.Headers {
			return "5.1 a frame on an idle stream"
		}
		m.last = id
	}
	if m.reset[id] && h.Type != frame.RSTStream {
		return "5.1 a frame after RST_STREAM"
	}
	switch h.Type {
	case frame.Data, frame.Headers:
		if m.ended[id] {
			return "5.1 a frame after END_STREAM"
		}
		m.ended[id] = h.Flags.Has(frame.FlagEndStream)
		if h.Type == frame.Headers && !h.Flags.Has(frame.FlagEndHeaders) {
			m.block = id
		}
	case frame.Continuation:
		if m.block == 0 {
			return "6.10 CONTINUATION of nothing"
		}
		if h.Flags.Has(frame.FlagEndHeaders) {
			m.block = 0
		}
	case frame.RSTStream:
		if len(p) != 4 {
			return "6.4 RST_STREAM of a wrong length"
		}
		m.reset[id] = true
	case frame.WindowUpdate:
		return checkIncrement(p)
	default:
		return "6 a frame of the connection on a stream"
	}
	return ""
}

func newMonitor(side protocol.Side) *monitor {
	return &monitor{side: side, ended: make(map[uint32]bool), reset: make(map[uint32]bool)}
}

// TestMonitor: it finds what it is there to find.
func TestMonitor(t *testing.T) {
	first := settings()
	open := raw(fHeaders, 4, 1, nil)
	for _, tt := range []struct {
		want   string // its section
		frames []byte
	}{
		{"3.4", ping("12345678")},
		{"3.4", raw(fSettings, 1, 0, nil)},
		{"4.1", join(first, raw(0x20, 0, 0, nil))},
		{"4.1", join(first, raw(fPing, 2, 0, make([]byte, 8)))},
		{"4.1", join(first, raw(fPing, 0, 1<<31, make([]byte, 8)))},
		{"4.2", join(first, open, raw(fData, 0, 1, make([]byte, 16385)))},
		{"5.1", join(first, data(1, "x", false))},
		{"5.1", join(first, raw(fHeaders, 5, 1, nil), data(1, "x", false))},
		{"5.1", join(first, open, rst(1, 8), window(1, 1))},
		{"5.1", join(first, raw(fHeaders, 4, 3, nil), rst(5, 8))},
		{"5.1.1", join(first, raw(fHeaders, 4, 2, nil))},
		{"6", join(first, raw(fData, 0, 0, nil))},
		{"6", join(first, open, raw(fSettings, 0, 1, nil))},
		{"6", join(first, open, raw(fPush, 0, 1, nil))},
		{"6.4", join(first, open, raw(fRST, 0, 1, nil))},
		{"6.5", raw(fSettings, 0, 0, make([]byte, 5))},
		{"6.5", join(first, raw(fSettings, 1, 0, make([]byte, 6)))},
		{"6.5.2", settings(5, 0)},
		{"6.7", join(first, raw(fPing, 0, 0, nil))},
		{"6.8", join(first, raw(fGoAway, 0, 0, nil))},
		{"6.8", join(first, goAway(1, 0, ""), goAway(3, 0, ""))},
		{"6.9", join(first, window(0, 0))},
		{"6.9", join(first, open, window(1, 0))},
		{"6.10", join(first, raw(fHeaders, 0, 1, nil), ping("12345678"))},
		{"6.10", join(first, raw(fHeaders, 0, 1, nil), raw(fContinuation, 4, 3, nil))},
		{"6.10", join(first, open, raw(fContinuation, 4, 1, nil))},
		{"", join(first, open, data(1, "x", false), raw(fHeaders, 1, 1, nil), raw(fContinuation, 4, 1, nil), window(1, 1), rst(1, 0), rst(1, 5))},
	} {
		m, got := newMonitor(protocol.Client), ""
		for b := tt.frames; len(b) > 0 && got == ""; {
			end := frame.HeaderLen + int(frame.ParseHeader(b).Length)
			got = m.check(b[:end])
			b = b[end:]
		}
		if section, _, _ := strings.Cut(got, " "); section != tt.want {
			t.Errorf("%q: %q, want section %q", fmt.Sprintf("%x", tt.frames), got, tt.want)
		}
	}
}
