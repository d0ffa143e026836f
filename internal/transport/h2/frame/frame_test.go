// SPDX-License-Identifier: Apache-2.0

package frame_test

import (
	"errors"
	"testing"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

func TestParseHeader(t *testing.T) {
	b := []byte{0x01, 0x02, 0x03, 0x09, 0x24, 0xff, 0xff, 0xff, 0xfe, 0xee}
	want := frame.Header{Length: 0x010203, Type: frame.Continuation, Flags: 0x24, StreamID: 0x7ffffffe}
	if got := frame.ParseHeader(b); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestVerdicts is the rules as the RFC has them, without an oracle.
func TestVerdicts(t *testing.T) {
	big := make([]byte, frame.MinMaxFrameSize+1)
	tests := []struct {
		name    string
		typ     frame.Type
		flags   frame.Flags
		id      uint32
		payload []byte
		want    string
	}{
		{"4.2: DATA too large", frame.Data, 0, 1, big, "stream 1 FRAME_SIZE_ERROR"},
		{"4.2: unknown type too large", 0x42, 0, 1, big, "stream 1 FRAME_SIZE_ERROR"},
		{"4.2: unknown type too large on 0", 0x42, 0, 0, big, "conn FRAME_SIZE_ERROR"},
		{"4.2: HEADERS too large", frame.Headers, 0, 1, big, "conn FRAME_SIZE_ERROR"},
		{"4.2: CONTINUATION too large", frame.Continuation, 0, 1, big, "conn FRAME_SIZE_ERROR"},
		{"4.2: SETTINGS too large", frame.Settings, 0, 0, make([]byte, 6*2731), "conn FRAME_SIZE_ERROR"},
		{"4.2: GOAWAY too large", frame.GoAway, 0, 0, big, "conn FRAME_SIZE_ERROR"},
		{"4.2: PRIORITY too large", frame.Priority, 0, 1, big, "stream 1 FRAME_SIZE_ERROR"},
		{"5.5: unknown type", 0x42, 0xff, 1, nil, "unknown 66"},
		{"6.1: DATA on 0", frame.Data, 0, 0, nil, "conn PROTOCOL_ERROR"},
		{"6.1: DATA, no pad length", frame.Data, frame.FlagPadded, 1, nil, "stream 1 FRAME_SIZE_ERROR"},
		{"6.1: DATA, only padding", frame.Data, frame.FlagPadded, 1, []byte{2, 0, 0}, "DATA 1  end=false"},
		{"6.1: DATA, padding one too long", frame.Data, frame.FlagPadded, 1, []byte{3, 0, 0}, "conn PROTOCOL_ERROR"},
		{"6.2: HEADERS on 0", frame.Headers, 0, 0, nil, "conn PROTOCOL_ERROR"},
		{"6.2: HEADERS, no pad length", frame.Headers, frame.FlagPadded, 1, nil, "conn FRAME_SIZE_ERROR"},
		{"6.2: HEADERS, no priority", frame.Headers, frame.FlagPriority, 1, make([]byte, 4), "conn FRAME_SIZE_ERROR"},
		{"6.2: HEADERS, padding one too long", frame.Headers, frame.FlagPadded, 1, []byte{2, 0}, "conn PROTOCOL_ERROR"},
		{"6.3: PRIORITY on 0", frame.Priority, 0, 0, make([]byte, 5), "conn PROTOCOL_ERROR"},
		{"6.3: PRIORITY of 4", frame.Priority, 0, 1, make([]byte, 4), "stream 1 FRAME_SIZE_ERROR"},
		{"6.3: PRIORITY of itself", frame.Priority, 0, 1, []byte{0, 0, 0, 1, 0}, "stream 1 PROTOCOL_ERROR"},
		{"6.4: RST_STREAM on 0", frame.RSTStream, 0, 0, make([]byte, 4), "conn PROTOCOL_ERROR"},
		{"6.4: RST_STREAM of 5", frame.RSTStream, 0, 1, make([]byte, 5), "conn FRAME_SIZE_ERROR"},
		{"6.5: SETTINGS on 1", frame.Settings, 0, 1, nil, "conn PROTOCOL_ERROR"},
		{"6.5: SETTINGS of 7", frame.Settings, 0, 0, make([]byte, 7), "conn FRAME_SIZE_ERROR"},
		{"6.5: SETTINGS ack of 6", frame.Settings, frame.FlagAck, 0, make([]byte, 6), "conn FRAME_SIZE_ERROR"},
		{"6.6: PUSH_PROMISE", frame.PushPromise, 0, 1, make([]byte, 4), "conn PROTOCOL_ERROR"},
		{"6.7: PING on 1", frame.Ping, 0, 1, make([]byte, 8), "conn PROTOCOL_ERROR"},
		{"6.7: PING of 7", frame.Ping, 0, 0, make([]byte, 7), "conn FRAME_SIZE_ERROR"},
		{"6.7: PING too large on 1", frame.Ping, 0, 1, big, "conn PROTOCOL_ERROR"},
		{"6.8: GOAWAY on 1", frame.GoAway, 0, 1, make([]byte, 8), "conn PROTOCOL_ERROR"},
		{"6.8: GOAWAY of 7", frame.GoAway, 0, 0, make([]byte, 7), "conn FRAME_SIZE_ERROR"},
		{"6.9: WINDOW_UPDATE of 0 on 0", frame.WindowUpdate, 0, 0, make([]byte, 4), "conn PROTOCOL_ERROR"},
		{"6.9: WINDOW_UPDATE of 0 on 1", frame.WindowUpdate, 0, 1, []byte{0x80, 0, 0, 0}, "stream 1 PROTOCOL_ERROR"},
		{"6.9: WINDOW_UPDATE of 3 bytes", frame.WindowUpdate, 0, 1, make([]byte, 3), "conn FRAME_SIZE_ERROR"},
		{"6.10: CONTINUATION on 0", frame.Continuation, 0, 0, nil, "conn PROTOCOL_ERROR"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ours(rawFrame(tt.typ, tt.flags, tt.id, tt.payload), frame.MinMaxFrameSize)
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestSettingCheck(t *testing.T) {
	tests := []struct {
		id    frame.SettingID
		value uint32
		want  string
	}{
		{frame.HeaderTableSize, 1<<32 - 1, "ok"},
		{frame.EnablePush, 0, "ok"},
		{frame.EnablePush, 1, "ok"},
		{frame.EnablePush, 2, "conn PROTOCOL_ERROR"},
		{frame.MaxConcurrentStreams, 0, "ok"},
		{frame.InitialWindowSize, 0, "ok"},
		{frame.InitialWindowSize, 1<<31 - 1, "ok"},
		{frame.InitialWindowSize, 1 << 31, "conn FLOW_CONTROL_ERROR"},
		{frame.MaxFrameSize, 0, "conn PROTOCOL_ERROR"},
		{frame.MaxFrameSize, frame.MinMaxFrameSize - 1, "conn PROTOCOL_ERROR"},
		{frame.MaxFrameSize, frame.MinMaxFrameSize, "ok"},
		{frame.MaxFrameSize, frame.MaxMaxFrameSize, "ok"},
		{frame.MaxFrameSize, frame.MaxMaxFrameSize + 1, "conn PROTOCOL_ERROR"},
		{frame.MaxHeaderListSize, 0, "ok"},
		{0, 1<<32 - 1, "ok"},
		{0xffff, 1<<32 - 1, "ok"},
	}
	for _, tt := range tests {
		s := frame.Setting{ID: tt.id, Value: tt.value}
		if got := oursErr(s.Check()); got != tt.want {
			t.Errorf("%v: got %s, want %s", s, got, tt.want)
		}
	}
}

// TestHeadersWithStreamErrorKeepTheirFragment: the fragment has to reach HPACK,
// whatever becomes of the stream.
func TestHeadersWithStreamErrorKeepTheirFragment(t *testing.T) {
	b := rawFrame(frame.Headers, frame.FlagPriority|frame.FlagEndHeaders, 3, []byte{0, 0, 0, 3, 1, 0x82, 0x86})
	f, err := frame.ParseHeaders(frame.ParseHeader(b), b[frame.HeaderLen:])
	if want := frame.StreamError(3, frame.ProtocolError, "priority: stream depends on itself"); !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
	if string(f.Fragment) != "\x82\x86" || !f.EndHeaders {
		t.Errorf("got %+v, want the fragment 8286 and the end of the headers", f)
	}
}

// What IsFieldBlock says of a frame is what ParseHeaders makes of it.
func TestIsFieldBlock(t *testing.T) {
	payload := make([]byte, 16)
	for flags := range 256 {
		for id := range uint32(2) {
			h := frame.Header{Length: uint32(len(payload)), Type: frame.Headers, Flags: frame.Flags(flags), StreamID: id}
			f, err := frame.ParseHeaders(h, payload)
			want := err == nil && f.EndHeaders && !h.Flags.Has(frame.FlagPadded) && !f.HasPriority
			if h.IsFieldBlock() != want {
				t.Errorf("flags %#x on stream %d: %t, %v", flags, id, !want, err)
			}
		}
	}
}

// TestParseTrustsNoLength gives every Parse function payloads that are not what
// the header says.
func TestParseTrustsNoLength(t *testing.T) {
	for n := range 16 {
		p := make([]byte, n)
		for _, length := range []uint32{0, 4, 5, 6, 8, 1 << 23} {
			for _, fl := range []frame.Flags{0, 0xff} {
				h := frame.Header{Length: length, Flags: fl, StreamID: 1}
				frame.ParseHeaders(h, p)
				frame.ParseContinuation(h, p)
				frame.ParsePriority(h, p)
				frame.ParseRSTStream(h, p)
				frame.ParseWindowUpdate(h, p)
				h.StreamID = 0
				frame.ParseSettings(h, p)
				frame.ParsePing(h, p)
				frame.ParseGoAway(h, p)
			}
		}
	}
}

func TestStrings(t *testing.T) {
	tests := map[string]string{
		frame.WindowUpdate.String():                                       "WINDOW_UPDATE",
		frame.Data.String():                                               "DATA",
		frame.Type(0x42).String():                                         "frame type 0x42",
		frame.HTTP11Required.String():                                     "HTTP_1_1_REQUIRED",
		frame.ErrCode(1<<32 - 1).String():                                 "unknown error code 0xffffffff",
		frame.Setting{ID: frame.InitialWindowSize, Value: 65535}.String(): "INITIAL_WINDOW_SIZE=65535",
		frame.SettingID(0).String():                                       "setting 0x0",
		frame.ConnError(frame.ProtocolError, "no").Error():                "connection error: PROTOCOL_ERROR: no",
		frame.StreamError(7, frame.Cancel, "no").Error():                  "stream 7 error: CANCEL: no",
	}
	for got, want := range tests {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
