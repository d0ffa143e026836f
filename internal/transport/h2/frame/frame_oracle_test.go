// SPDX-License-Identifier: Apache-2.0

package frame_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/internal/transport/h2/frame"
)

// rawFrame builds a frame of any kind, right or wrong.
func rawFrame(t frame.Type, flags frame.Flags, id uint32, payload []byte) []byte {
	h := frame.Header{Length: uint32(len(payload)), Type: t, Flags: flags, StreamID: id}
	return append(frame.AppendHeader(nil, h), payload...)
}

// ours reads the frame b with this package and says what it saw.
func ours(b []byte, maxFrame uint32) string {
	h := frame.ParseHeader(b)
	if err := h.Check(maxFrame); err != nil {
		return oursErr(err)
	}
	p := b[frame.HeaderLen:]
	switch h.Type {
	case frame.Data:
		var padLen uint8
		if h.Flags.Has(frame.FlagPadded) {
			padLen, p = p[0], p[1:]
		}
		n, pad, err := frame.DataPadding(h, padLen)
		if err != nil {
			return oursErr(err)
		}
		if int(n+pad) != len(p) {
			return fmt.Sprintf("data %d and padding %d of %d", n, pad, len(p))
		}
		return fmt.Sprintf("DATA %d %x end=%t", h.StreamID, p[:n], h.Flags.Has(frame.FlagEndStream))
	case frame.Headers:
		f, err := frame.ParseHeaders(h, p)
		if err != nil {
			return oursErr(err)
		}
		return fmt.Sprintf("HEADERS %d %x end=%t last=%t prio=%t %d %t %d", h.StreamID, f.Fragment, f.EndStream,
			f.EndHeaders, f.HasPriority, f.Priority.Dep, f.Priority.Exclusive, f.Priority.Weight)
	case frame.Priority:
		if err := frame.ParsePriority(h, p); err != nil {
			return oursErr(err)
		}
		return fmt.Sprintf("PRIORITY %d", h.StreamID)
	case frame.RSTStream:
		code, err := frame.ParseRSTStream(h, p)
		if err != nil {
			return oursErr(err)
		}
		return fmt.Sprintf("RST_STREAM %d %d", h.StreamID, code)
	case frame.Settings:
		s, err := frame.ParseSettings(h, p)
		if err != nil {
			return oursErr(err)
		}
		out := fmt.Sprintf("SETTINGS ack=%t", h.Flags.Has(frame.FlagAck))
		for i := range s.Len() {
			out += fmt.Sprintf(" %d=%d(%s)", s.At(i).ID, s.At(i).Value, oursErr(s.At(i).Check()))
		}
		return out
	case frame.Ping:
		data, err := frame.ParsePing(h, p)
		if err != nil {
			return oursErr(err)
		}
		return fmt.Sprintf("PING %x ack=%t", data, h.Flags.Has(frame.FlagAck))
	case frame.GoAway:
		f, err := frame.ParseGoAway(h, p)
		if err != nil {
			return oursErr(err)
		}
		return fmt.Sprintf("GOAWAY %d %d %x", f.LastStreamID, f.Code, f.Debug)
	case frame.WindowUpdate:
		n, err := frame.ParseWindowUpdate(h, p)
		if err != nil {
			return oursErr(err)
		}
		return fmt.Sprintf("WINDOW_UPDATE %d %d", h.StreamID, n)
	case frame.Continuation:
		f, err := frame.ParseContinuation(h, p)
		if err != nil {
			return oursErr(err)
		}
		return fmt.Sprintf("CONTINUATION %d %x last=%t", h.StreamID, f.Fragment, f.EndHeaders)
	}
	return fmt.Sprintf("unknown %d", h.Type)
}

func oursErr(err error) string {
	var fe frame.Error
	switch {
	case err == nil:
		return "ok"
	case !errors.As(err, &fe):
		return "foreign error: " + err.Error()
	case fe.IsConn():
		return "conn " + fe.Code.String()
	}
	return fmt.Sprintf("stream %d %s", fe.StreamID, fe.Code)
}

// theirs reads the frame b with the oracle and says what it saw.
func theirs(t testing.TB, b []byte, maxFrame uint32) string {
	t.Helper()
	h := frame.ParseHeader(b)
	var in []byte
	if h.Type == frame.Continuation && h.StreamID != 0 {
		in = rawFrame(frame.Headers, 0, h.StreamID, nil) // it needs one to continue
	}
	fr := http2.NewFramer(nil, bytes.NewReader(append(in, b...)))
	fr.SetMaxReadFrameSize(maxFrame)
	if in != nil {
		if _, err := fr.ReadFrame(); err != nil {
			t.Fatalf("the frame before the one under test: %v", err)
		}
	}
	f, err := fr.ReadFrame()
	if err != nil {
		return theirErr(err)
	}
	switch f := f.(type) {
	case *http2.DataFrame:
		return fmt.Sprintf("DATA %d %x end=%t", f.StreamID, f.Data(), f.StreamEnded())
	case *http2.HeadersFrame:
		return fmt.Sprintf("HEADERS %d %x end=%t last=%t prio=%t %d %t %d", f.StreamID, f.HeaderBlockFragment(),
			f.StreamEnded(), f.HeadersEnded(), f.HasPriority(), f.Priority.StreamDep, f.Priority.Exclusive, f.Priority.Weight)
	case *http2.PriorityFrame:
		return fmt.Sprintf("PRIORITY %d", f.StreamID)
	case *http2.RSTStreamFrame:
		return fmt.Sprintf("RST_STREAM %d %d", f.StreamID, f.ErrCode)
	case *http2.SettingsFrame:
		out := fmt.Sprintf("SETTINGS ack=%t", f.IsAck())
		for i := range f.NumSettings() {
			s := f.Setting(i)
			err := s.Valid()
			if s.ID > http2.SettingMaxHeaderListSize {
				err = nil // section 6.5.2: what is not understood is ignored, RFC 8441's too
			}
			out += fmt.Sprintf(" %d=%d(%s)", s.ID, s.Val, theirErr(err))
		}
		return out
	case *http2.PushPromiseFrame:
		return "PUSH_PROMISE"
	case *http2.PingFrame:
		return fmt.Sprintf("PING %x ack=%t", f.Data, f.IsAck())
	case *http2.GoAwayFrame:
		return fmt.Sprintf("GOAWAY %d %d %x", f.LastStreamID, f.ErrCode, f.DebugData())
	case *http2.WindowUpdateFrame:
		return fmt.Sprintf("WINDOW_UPDATE %d %d", f.StreamID, f.Increment)
	case *http2.ContinuationFrame:
		return fmt.Sprintf("CONTINUATION %d %x last=%t", f.StreamID, f.HeaderBlockFragment(), f.HeadersEnded())
	}
	return fmt.Sprintf("unknown %d", f.Header().Type)
}

func theirErr(err error) string {
	var ce http2.ConnectionError
	var se http2.StreamError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &ce):
		return "conn " + http2.ErrCode(ce).String()
	case errors.As(err, &se):
		return fmt.Sprintf("stream %d %s", se.StreamID, se.Code)
	}
	return "error: " + err.Error()
}

// compare fails the test where the two disagree without a reason.
func compare(t testing.TB, b []byte) {
	t.Helper()
	got, want := ours(b, frame.MinMaxFrameSize), theirs(t, b, frame.MinMaxFrameSize)
	if got == want || explained(frame.ParseHeader(b), b[frame.HeaderLen:], got, want) != "" {
		return
	}
	t.Errorf("%+v\n payload %.80x\n ours   %s\n oracle %s", frame.ParseHeader(b), b[frame.HeaderLen:], got, want)
}

// explained names the rule behind a difference from the oracle, or is empty.
func explained(h frame.Header, p []byte, got, want string) string {
	onStream := fmt.Sprintf("stream %d ", h.StreamID)
	connErr := strings.HasPrefix(got, "conn ")
	switch {
	case h.Type == frame.PushPromise && got == "conn PROTOCOL_ERROR":
		return "RFC 9113 sections 6.6 and 8.4: push is disabled"
	case want == "error: http2: frame too large" && h.Length > frame.MinMaxFrameSize &&
		(connErr || got == onStream+"FRAME_SIZE_ERROR"):
		return "section 4.2: which of the two errors, is left to the oracle's caller"
	case want == "error: unexpected EOF" && strings.HasSuffix(got, " FRAME_SIZE_ERROR"):
		return "section 4.2: too small to contain mandatory frame data"
	case h.Type == frame.Headers && h.Flags.Has(frame.FlagPadded) &&
		got == "conn PROTOCOL_ERROR" && want == onStream+"PROTOCOL_ERROR":
		return "sections 6.2 and 4.3: no fragment, so no HPACK state to go on with"
	case h.Type == frame.Priority && got == onStream+"FRAME_SIZE_ERROR" && want == "conn FRAME_SIZE_ERROR":
		return "section 6.3: a length other than 5 is a stream error"
	case got == onStream+"PROTOCOL_ERROR" && dependsOnItself(h, p):
		return "RFC 7540 section 5.3.1"
	case got == "conn PROTOCOL_ERROR" && want == "conn FRAME_SIZE_ERROR" && onWrongStream(h):
		return "two rules of section 6 are broken, and either may be named"
	case h.Type == frame.Settings && want == "conn FLOW_CONTROL_ERROR" && strings.Contains(got, "(conn FLOW_CONTROL_ERROR)"):
		return "section 6.5.2: same rule, checked by Setting.Check"
	case h.Type == 0x10 && got == "unknown 16":
		return "section 5.5: PRIORITY_UPDATE, RFC 9218, is no type of ours"
	}
	return ""
}

func dependsOnItself(h frame.Header, p []byte) bool {
	switch {
	case h.Type == frame.Headers && h.Flags.Has(frame.FlagPriority|frame.FlagPadded):
		p = p[1:]
	case h.Type == frame.Headers && h.Flags.Has(frame.FlagPriority), h.Type == frame.Priority:
	default:
		return false
	}
	return len(p) >= 5 && binary.BigEndian.Uint32(p)&(1<<31-1) == h.StreamID
}

func onWrongStream(h frame.Header) bool {
	switch h.Type {
	case frame.RSTStream:
		return h.StreamID == 0
	case frame.Settings, frame.Ping, frame.GoAway:
		return h.StreamID != 0
	}
	return false
}

func FuzzFrames(f *testing.F) {
	for _, b := range specimens() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < frame.HeaderLen {
			return
		}
		// The length is what the test has: no reader would get further.
		b = bytes.Clone(b[:min(len(b), frame.HeaderLen+frame.MinMaxFrameSize+1)])
		n := binary.BigEndian.AppendUint32(nil, uint32(len(b)-frame.HeaderLen))
		copy(b, n[1:])
		compare(t, b)
	})
}

func TestSpecimensAgainstOracle(t *testing.T) {
	for _, b := range specimens() {
		compare(t, b)
	}
}

// specimens are frames of every type, on a stream and on the connection, with
// every flag that means something, at and around every length that matters.
func specimens() [][]byte {
	var out [][]byte
	flags := []frame.Flags{0, 0x1, 0x4, 0x5, 0x8, 0xc, 0x20, 0x28, 0x2d, 0xff}
	payloads := [][]byte{
		nil,
		{0},
		{1},
		{2, 0},
		{1, 0},
		{0, 0, 0, 0},
		{0, 0, 0, 1},
		{0x80, 0, 0, 0},
		{0xff, 0xff, 0xff, 0xff},
		{0, 0, 0, 1, 9},
		{0, 0, 0, 3, 200},
		{0x80, 0, 0, 3, 1},
		{0, 0, 0, 0, 3, 1},
		{2, 0, 0, 0, 5, 1, 0xaa},
		{1, 0, 0, 0, 5, 1, 0xaa, 0},
		{3, 0, 0, 0, 5, 1, 0xaa, 0},
		{0, 0, 0, 0, 1, 1, 0x82},
		{0, 0, 0, 3, 1, 1, 0x82, 0},
		{0, 1, 0, 0, 16, 0},
		{0, 2, 0, 0, 0, 1},
		{0, 2, 0, 0, 0, 2},
		{0, 3, 0, 0, 0, 100},
		{0, 4, 0x7f, 0xff, 0xff, 0xff},
		{0, 4, 0x80, 0, 0, 0},
		{0, 5, 0, 0, 0x40, 0},
		{0, 5, 0, 0, 0x3f, 0xff},
		{0, 5, 0, 0xff, 0xff, 0xff},
		{0, 5, 1, 0, 0, 0},
		{0, 5, 0, 0, 0, 0},
		{0, 6, 0, 0, 0, 0},
		{0x12, 0x34, 0, 0, 0, 7},
		{0, 3, 0, 0, 0, 1, 0, 3, 0, 0, 0, 2},
		{1, 2, 3, 4, 5, 6, 7, 8},
		{0x80, 0, 0, 7, 0, 0, 0, 2, 'b', 'y', 'e'},
		make([]byte, frame.MinMaxFrameSize), make([]byte, frame.MinMaxFrameSize+1),
	}
	for typ := range frame.Type(12) {
		for _, fl := range flags {
			for _, p := range payloads {
				out = append(out, rawFrame(typ, fl, 0, p), rawFrame(typ, fl, 3, p))
			}
		}
	}
	return out
}
