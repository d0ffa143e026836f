// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/protocol"
)

const (
	fData         = http2.FrameData
	fHeaders      = http2.FrameHeaders
	fPriority     = http2.FramePriority
	fRST          = http2.FrameRSTStream
	fSettings     = http2.FrameSettings
	fPush         = http2.FramePushPromise
	fPing         = http2.FramePing
	fGoAway       = http2.FrameGoAway
	fWindow       = http2.FrameWindowUpdate
	fContinuation = http2.FrameContinuation
)

// broken is what follows a connection error.
func broken(last, code string) []string { return []string{"GOAWAY " + last + " " + code, "EOF"} }

// replied is send after a call was made and has ended.
func replied(send func(p *testPeer) []byte) func(p *testPeer) []byte {
	return func(p *testPeer) []byte {
		p.send(p.request(1, true))
		p.role.stream(1).Send(protocol.Frames{Headers: response, End: true})
		return send(p)
	}
}

// TestServerRules: what a client must not do, and what a server answers. Each
// case is sent in one piece, and byte by byte.
func TestServerRules(t *testing.T) {
	tests := []struct {
		name string // with the section of RFC 9113
		send func(p *testPeer) []byte
		want []string
		cfg  peerConfig
	}{
		{name: "4.1 unknown type is ignored", send: func(*testPeer) []byte {
			return join(raw(0x7f, 0xff, 5, []byte("what")), raw(0x20, 0, 0, nil), ping("12345678"))
		}, want: []string{"PING ack 12345678"}},
		{name: "4.1 flags and a bit that mean nothing are ignored", send: func(p *testPeer) []byte {
			b := raw(fPing, 0xfe, 1<<31, []byte("12345678"))
			return join(raw(fHeaders, 0xd2|4|1, 1<<31|1, p.fieldBlock(request...)), b)
		}, want: []string{"PING ack 12345678"}},
		{name: "4.2 DATA larger than allowed", send: func(p *testPeer) []byte {
			return join(p.request(1, false), data(1, strings.Repeat("x", 16385), false), ping("12345678"))
		}, want: []string{"WINDOW 0 16385", "RST 1 FRAME_SIZE_ERROR", "PING ack 12345678"}},
		{name: "4.2 HEADERS larger than allowed", send: func(*testPeer) []byte {
			return raw(fHeaders, 4, 1, make([]byte, 16385))
		}, want: broken("0", "FRAME_SIZE_ERROR")},
		{name: "4.2 unknown type larger than allowed, on the connection", send: func(*testPeer) []byte {
			return raw(0x7f, 0, 0, make([]byte, 16385))
		}, want: broken("0", "FRAME_SIZE_ERROR")},
		{name: "4.3 undecodable block", send: func(*testPeer) []byte {
			return raw(fHeaders, 4, 1, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
		}, want: broken("0", "COMPRESSION_ERROR")},
		{name: "5.1 DATA on idle stream", send: func(*testPeer) []byte { return data(1, "x", false) }, want: broken("0", "PROTOCOL_ERROR")},
		{name: "5.1 RST_STREAM on idle stream", send: func(*testPeer) []byte { return rst(1, 8) }, want: broken("0", "PROTOCOL_ERROR")},
		{name: "5.1 WINDOW_UPDATE on idle stream", send: func(*testPeer) []byte { return window(1, 1) }, want: broken("0", "PROTOCOL_ERROR")},
		{name: "4.3 a block that ends within a field", send: func(*testPeer) []byte {
			return raw(fHeaders, 4|1, 1, []byte{0x82, 0x40, 5, 'a'})
		}, want: broken("0", "COMPRESSION_ERROR")},
		{name: "4.3 undecodable block on a closed stream", send: func(p *testPeer) []byte {
			p.send(p.request(1, false))
			p.role.stream(1).Reset(8)
			return raw(fHeaders, 4|1, 1, []byte{0x80})
		}, want: []string{"RST 1 CANCEL", "GOAWAY 1 COMPRESSION_ERROR", "EOF"}},
		{name: "5.1 DATA on a stream that was left out", send: func(p *testPeer) []byte {
			return join(p.request(5, true), data(3, "x", false), ping("12345678"))
		}, want: []string{"RST 3 STREAM_CLOSED", "PING ack 12345678"}},
		{name: "5.1 PRIORITY on idle stream", send: func(*testPeer) []byte {
			return join(raw(fPriority, 0, 1, []byte{0, 0, 0, 3, 1}), ping("12345678"))
		}, want: []string{"PING ack 12345678"}},
		{name: "5.1 DATA after END_STREAM", send: func(p *testPeer) []byte {
			return join(p.request(1, true), data(1, "x", false))
		}, want: []string{"RST 1 STREAM_CLOSED"}},
		{name: "5.1 HEADERS after END_STREAM", send: func(p *testPeer) []byte {
			return join(p.request(1, true), p.headers(1, true, "a", "b"))
		}, want: []string{"RST 1 STREAM_CLOSED"}},
		{name: "5.1 RST_STREAM and WINDOW_UPDATE after END_STREAM", send: func(p *testPeer) []byte {
			return join(p.request(1, true), window(1, 1), rst(1, 8), window(1, 1), rst(1, 8))
		}},
		{name: "5.1 frames on a stream that was reset", send: func(p *testPeer) []byte {
			return join(p.request(1, false), rst(1, 8), data(1, "x", false), window(1, 5), rst(1, 8), ping("12345678"))
		}, want: []string{"RST 1 STREAM_CLOSED", "PING ack 12345678"}},
		{name: "5.1.1 HEADERS on a stream that was reset", send: func(p *testPeer) []byte {
			return join(p.request(1, false), rst(1, 8), p.headers(1, true, "a", "b"), ping("12345678"))
		}, want: broken("1", "PROTOCOL_ERROR")},
		{name: "5.1.1 HEADERS on a stream that has ended", send: replied(func(p *testPeer) []byte {
			return p.headers(1, true, "a", "b")
		}), want: append([]string{"HEADERS 1 end :status=200"}, broken("1", "PROTOCOL_ERROR")...)},
		{name: "5.1 DATA on a stream that has ended", send: replied(func(p *testPeer) []byte {
			return join(data(1, "x", true), ping("12345678"))
		}), want: []string{"HEADERS 1 end :status=200", "RST 1 STREAM_CLOSED", "PING ack 12345678"}},
		{name: "5.1 frames on a stream that we have reset", send: func(p *testPeer) []byte {
			p.send(p.request(1, false))
			p.role.stream(1).Reset(8)
			return join(data(1, "x", false), window(1, 5), p.headers(1, true, "a", "b"), ping("12345678"))
		}, want: []string{"RST 1 CANCEL", "PING ack 12345678"}},
		{name: "5.1.1 even id", send: func(p *testPeer) []byte { return p.request(2, true) }, want: broken("0", "PROTOCOL_ERROR")},
		{name: "5.1.1 lower id than before", send: func(p *testPeer) []byte {
			return join(p.request(5, true), p.request(3, true))
		}, want: broken("5", "PROTOCOL_ERROR")},
		{name: "5.1.2 too many streams", send: func(p *testPeer) []byte {
			return join(p.request(1, true), p.request(3, true), p.request(5, true))
		}, want: []string{"RST 5 REFUSED_STREAM"}, cfg: peerConfig{Config: protocol.Config{MaxStreams: 2}}},
		{name: "6.1 DATA on stream 0", send: func(*testPeer) []byte { return data(0, "x", false) }, want: broken("0", "PROTOCOL_ERROR")},
		{name: "6.1 padding as long as the payload", send: func(p *testPeer) []byte {
			return join(p.request(1, false), raw(fData, 8, 1, []byte{3, 0, 0}))
		}, want: broken("1", "PROTOCOL_ERROR")},
		{name: "6.1 no room for the pad length", send: func(p *testPeer) []byte {
			return join(p.request(1, false), raw(fData, 8, 1, nil))
		}, want: []string{"RST 1 FRAME_SIZE_ERROR"}},
		{name: "6.2 HEADERS on stream 0", send: func(p *testPeer) []byte { return p.request(0, true) }, want: broken("0", "PROTOCOL_ERROR")},
		{name: "6.2 padding longer than the payload", send: func(*testPeer) []byte {
			return raw(fHeaders, 4|8, 1, []byte{9, 0x82})
		}, want: broken("0", "PROTOCOL_ERROR")},
		{name: "6.2 too short for the priority", send: func(*testPeer) []byte {
			return raw(fHeaders, 4|0x20, 1, []byte{0, 0, 0, 0})
		}, want: broken("0", "FRAME_SIZE_ERROR")},
		{name: "6.2 depends on itself", send: func(p *testPeer) []byte {
			return join(raw(fHeaders, 4|0x20, 1, append([]byte{0, 0, 0, 1, 0}, p.fieldBlock(request...)...)), p.request(3, true))
		}, want: []string{"RST 1 PROTOCOL_ERROR"}},
		{name: "6.3 PRIORITY on stream 0", send: func(*testPeer) []byte { return raw(fPriority, 0, 0, make([]byte, 5)) }, want: broken("0", "PROTOCOL_ERROR")},
		{name: "6.3 PRIORITY of a wrong length", send: func(p *testPeer) []byte {
			return join(p.request(1, false), raw(fPriority, 0, 1, make([]byte, 4)))
		}, want: []string{"RST 1 FRAME_SIZE_ERROR"}},
		{name: "6.3 PRIORITY of a wrong length on an idle stream", send: func(*testPeer) []byte {
			return join(raw(fPriority, 0, 1, make([]byte, 4)), ping("12345678"))
		}, want: broken("0", "FRAME_SIZE_ERROR")},
		{name: "6.4 RST_STREAM on stream 0", send: func(*testPeer) []byte { return rst(0, 8) }, want: broken("0", "PROTOCOL_ERROR")},
		{name: "6.4 RST_STREAM of a wrong length", send: func(p *testPeer) []byte {
			return join(p.request(1, false), raw(fRST, 0, 1, make([]byte, 3)))
		}, want: broken("1", "FRAME_SIZE_ERROR")},
		{name: "6.5 SETTINGS on a stream", send: func(*testPeer) []byte { return raw(fSettings, 0, 1, nil) }, want: broken("0", "PROTOCOL_ERROR")},
		{name: "6.5 SETTINGS of a wrong length", send: func(*testPeer) []byte { return raw(fSettings, 0, 0, make([]byte, 5)) }, want: broken("0", "FRAME_SIZE_ERROR")},
		{name: "6.5 acknowledgement with a payload", send: func(*testPeer) []byte { return raw(fSettings, 1, 0, make([]byte, 6)) }, want: broken("0", "FRAME_SIZE_ERROR")},
		{name: "6.5 acknowledgement of nothing is ignored", send: func(*testPeer) []byte {
			return join(raw(fSettings, 1, 0, nil), raw(fSettings, 1, 0, nil), ping("12345678"))
		}, want: []string{"PING ack 12345678"}},
		{name: "6.5.2 ENABLE_PUSH 2", send: func(*testPeer) []byte { return settings(2, 2) }, want: broken("0", "PROTOCOL_ERROR")},
		{name: "6.5.2 ENABLE_PUSH 1", send: func(*testPeer) []byte { return settings(2, 1) }, want: []string{"SETTINGS ack"}},
		{name: "6.5.2 INITIAL_WINDOW_SIZE 2^31", send: func(*testPeer) []byte { return settings(4, 1<<31) }, want: broken("0", "FLOW_CONTROL_ERROR")},
		{name: "6.5.2 MAX_FRAME_SIZE 0", send: func(*testPeer) []byte { return settings(5, 0) }, want: broken("0", "PROTOCOL_ERROR")},
		{name: "6.5.2 MAX_FRAME_SIZE 16383", send: func(*testPeer) []byte { return settings(5, 16383) }, want: broken("0", "PROTOCOL_ERROR")},
		{name: "6.5.2 MAX_FRAME_SIZE 2^24", send: func(*testPeer) []byte { return settings(5, 1<<24) }, want: broken("0", "PROTOCOL_ERROR")},
		{name: "6.5.2 unknown setting", send: func(*testPeer) []byte { return settings(0x99, 7, 5, 16384) }, want: []string{"SETTINGS ack"}},
		{name: "6.5.2 a wrong value before a right one", send: func(*testPeer) []byte { return settings(4, 1<<31, 4, 100) }, want: broken("0", "FLOW_CONTROL_ERROR")},
		{name: "10.5 more settings than there can be", send: func(*testPeer) []byte {
			return raw(fSettings, 0, 0, bytes.Repeat([]byte{0, 4, 0, 0, 0, 1}, protocol.MaxSettings+1))
		}, want: broken("0", "ENHANCE_YOUR_CALM")},
		{name: "6.6 PUSH_PROMISE", send: func(p *testPeer) []byte {
			return join(p.request(1, false), raw(fPush, 4, 1, []byte{0, 0, 0, 2, 0x82}))
		}, want: broken("1", "PROTOCOL_ERROR")},
		{name: "6.7 PING", send: func(*testPeer) []byte { return ping("12345678") }, want: []string{"PING ack 12345678"}},
		{name: "6.7 PING ack of nothing is ignored", send: func(*testPeer) []byte { return raw(fPing, 1, 0, make([]byte, 8)) }},
		{name: "6.7 PING on a stream", send: func(*testPeer) []byte { return raw(fPing, 0, 1, make([]byte, 8)) }, want: broken("0", "PROTOCOL_ERROR")},
		{name: "6.7 PING of a wrong length", send: func(*testPeer) []byte { return raw(fPing, 0, 0, make([]byte, 7)) }, want: broken("0", "FRAME_SIZE_ERROR")},
		{name: "6.8 GOAWAY on a stream", send: func(*testPeer) []byte { return raw(fGoAway, 0, 1, make([]byte, 8)) }, want: broken("0", "PROTOCOL_ERROR")},
		{name: "6.8 GOAWAY too short", send: func(*testPeer) []byte { return raw(fGoAway, 0, 0, make([]byte, 7)) }, want: broken("0", "FRAME_SIZE_ERROR")},
		{name: "6.8 GOAWAY with a higher last stream than before", send: func(p *testPeer) []byte {
			return join(p.request(1, false), goAway(0, 0, ""), goAway(2, 0, ""))
		}, want: broken("1", "PROTOCOL_ERROR")},
		{name: "6.8 GOAWAY with an unknown code", send: func(*testPeer) []byte {
			return join(goAway(0, 0x99, "what"), ping("12345678"))
		}, want: []string{"PING ack 12345678"}},
		{name: "6.4 RST_STREAM with an unknown code", send: func(p *testPeer) []byte {
			return join(p.request(1, false), rst(1, 0x99), ping("12345678"))
		}, want: []string{"PING ack 12345678"}},
		{name: "6.9 a bit that means nothing is ignored", send: func(p *testPeer) []byte {
			return join(p.request(1, false), window(1, 1<<31|5), ping("12345678"))
		}, want: []string{"PING ack 12345678"}},
		{name: "6.9 WINDOW_UPDATE of 0 on a stream", send: func(p *testPeer) []byte {
			return join(p.request(1, false), window(1, 0))
		}, want: []string{"RST 1 PROTOCOL_ERROR"}},
		{name: "6.9 WINDOW_UPDATE of 0 on the connection", send: func(*testPeer) []byte { return window(0, 0) }, want: broken("0", "PROTOCOL_ERROR")},
		{name: "6.9 WINDOW_UPDATE of a wrong length", send: func(*testPeer) []byte { return raw(fWindow, 0, 0, make([]byte, 3)) }, want: broken("0", "FRAME_SIZE_ERROR")},
		{name: "6.9.1 stream window past 2^31-1", send: func(p *testPeer) []byte {
			return join(p.request(1, false), window(1, 1<<31-1))
		}, want: []string{"RST 1 FLOW_CONTROL_ERROR"}},
		{name: "6.9.1 connection window past 2^31-1", send: func(*testPeer) []byte { return window(0, 1<<31-1) }, want: broken("0", "FLOW_CONTROL_ERROR")},
		{name: "6.9.1 more than the stream's window", send: func(p *testPeer) []byte {
			return join(p.request(1, false), data(1, strings.Repeat("x", 101), false), data(1, "x", true), ping("12345678"))
		}, want: []string{"RST 1 FLOW_CONTROL_ERROR", "PING ack 12345678"}, cfg: peerConfig{Config: protocol.Config{StreamWindow: 100, StaticWindow: true}}},
		{name: "6.9.1 padding counts", send: func(p *testPeer) []byte {
			return join(p.request(1, false), raw(fData, 8, 1, append([]byte{100}, make([]byte, 100)...)), ping("12345678"))
		}, want: []string{"RST 1 FLOW_CONTROL_ERROR", "PING ack 12345678"}, cfg: peerConfig{Config: protocol.Config{StreamWindow: 100, StaticWindow: true}}},
		{name: "6.9.2 setting takes a window past 2^31-1", send: func(p *testPeer) []byte {
			return join(p.request(1, false), window(1, 1<<31-1-65535), settings(4, 65536))
		}, want: broken("1", "FLOW_CONTROL_ERROR")},
		{name: "6.10 CONTINUATION without HEADERS", send: func(*testPeer) []byte { return raw(fContinuation, 4, 1, nil) }, want: broken("0", "PROTOCOL_ERROR")},
		{name: "6.10 CONTINUATION on stream 0", send: func(*testPeer) []byte { return raw(fContinuation, 4, 0, nil) }, want: broken("0", "PROTOCOL_ERROR")},
		{name: "6.10 CONTINUATION on another stream", send: func(*testPeer) []byte {
			return join(raw(fHeaders, 0, 1, []byte{0x82}), raw(fContinuation, 4, 3, nil))
		}, want: broken("0", "PROTOCOL_ERROR")},
		{name: "6.10 CONTINUATION after END_HEADERS", send: func(p *testPeer) []byte {
			return join(p.request(1, false), raw(fContinuation, 4, 1, nil))
		}, want: broken("1", "PROTOCOL_ERROR")},
		{name: "6.10 another frame within a field block", send: func(*testPeer) []byte {
			return join(raw(fHeaders, 0, 1, []byte{0x82}), ping("12345678"))
		}, want: broken("0", "PROTOCOL_ERROR")},
		{name: "6.10 an unknown frame within a field block", send: func(*testPeer) []byte {
			return join(raw(fHeaders, 0, 1, []byte{0x82}), raw(0x77, 0, 1, nil))
		}, want: broken("0", "PROTOCOL_ERROR")},
	}
	for _, tt := range tests {
		for _, split := range []bool{false, true} {
			name := tt.name
			if split {
				name += ", byte by byte"
			}
			t.Run(name, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					tt.cfg.StaticWindow = true
					p := newPeer(t, protocol.Server, tt.cfg)
					if split {
						p.nc.out.set(func() { p.nc.out.maxRead = 1 })
					}
					p.send(tt.send(p))
					p.want(tt.want...)
				})
			})
		}
	}
}

// TestRulesOfFrames: what neither side may send, whoever it is. Stream 1 is open on both
// sides.
func TestRulesOfFrames(t *testing.T) {
	const proto, size, flow, comp = "PROTOCOL_ERROR", "FRAME_SIZE_ERROR", "FLOW_CONTROL_ERROR", "COMPRESSION_ERROR"
	one := func(id uint32) []byte { return raw(fHeaders, 4, id, []byte{0x88}) }
	for _, tt := range []struct {
		name   string
		send   []byte
		conn   string // the connection's error
		stream string // that of stream 1
	}{
		{name: "4.2 DATA", send: raw(fData, 0, 1, make([]byte, 16385)), stream: size},
		{name: "4.2 HEADERS", send: raw(fHeaders, 4, 1, make([]byte, 16385)), conn: size},
		{name: "4.2 CONTINUATION", send: join(raw(fHeaders, 0, 1, nil), raw(fContinuation, 4, 1, make([]byte, 16385))), conn: size},
		{name: "4.2 SETTINGS", send: raw(fSettings, 0, 0, make([]byte, 16386)), conn: size},
		{name: "4.2 GOAWAY", send: raw(fGoAway, 0, 0, make([]byte, 16385)), conn: size},
		{name: "4.3 undecodable block", send: raw(fHeaders, 4, 1, []byte{0x80}), conn: comp},
		{name: "4.3 undecodable block in pieces", send: join(raw(fHeaders, 0, 1, nil), raw(fContinuation, 4, 1, []byte{0x80})), conn: comp},
		{name: "6.1 stream 0", send: data(0, "x", false), conn: proto},
		{name: "6.1 padding as long as the payload", send: raw(fData, 8, 1, []byte{3, 0, 0}), conn: proto},
		{name: "5.1 DATA on an idle stream", send: data(7, "x", false), conn: proto},
		{name: "6.1 no room for the pad length", send: raw(fData, 8, 1, nil), stream: size},
		{name: "6.2 stream 0", send: one(0), conn: proto},
		{name: "6.2 padding longer than the payload", send: raw(fHeaders, 4|8, 1, []byte{9, 0x88}), conn: proto},
		{name: "6.2 padding as long as the payload", send: raw(fHeaders, 4|8, 1, []byte{2, 0}), conn: proto},
		{name: "6.2 too short for the priority", send: raw(fHeaders, 4|0x20, 1, make([]byte, 4)), conn: size},
		{name: "6.3 stream 0", send: raw(fPriority, 0, 0, make([]byte, 5)), conn: proto},
		{name: "6.3 wrong length", send: raw(fPriority, 0, 1, make([]byte, 4)), stream: size},
		{name: "6.4 stream 0", send: rst(0, 8), conn: proto},
		{name: "6.4 wrong length", send: raw(fRST, 0, 1, make([]byte, 5)), conn: size},
		{name: "6.4 idle stream", send: rst(7, 8), conn: proto},
		{name: "6.5 on a stream", send: raw(fSettings, 0, 1, nil), conn: proto},
		{name: "6.5 wrong length", send: raw(fSettings, 0, 0, make([]byte, 7)), conn: size},
		{name: "6.5 acknowledgement with a payload", send: raw(fSettings, 1, 0, make([]byte, 6)), conn: size},
		{name: "6.5.2 ENABLE_PUSH", send: settings(2, 2), conn: proto},
		{name: "6.5.2 INITIAL_WINDOW_SIZE", send: settings(4, 1<<31), conn: flow},
		{name: "6.5.2 MAX_FRAME_SIZE, small", send: settings(5, 16383), conn: proto},
		{name: "6.5.2 MAX_FRAME_SIZE, large", send: settings(5, 1<<24), conn: proto},
		{name: "6.6", send: raw(fPush, 4, 1, []byte{0, 0, 0, 2, 0x82}), conn: proto},
		{name: "6.6 stream 0", send: raw(fPush, 4, 0, []byte{0, 0, 0, 2, 0x82}), conn: proto},
		{name: "6.6 idle stream", send: raw(fPush, 4, 7, []byte{0, 0, 0, 2, 0x82}), conn: proto},
		{name: "6.6 stream that was reset", send: join(rst(1, 8), raw(fPush, 4, 1, []byte{0, 0, 0, 2, 0x82})), conn: proto},
		{name: "6.6 in pieces", send: raw(fPush, 0, 1, []byte{0, 0, 0, 2, 0x82}), conn: proto},
		{name: "6.7 on a stream", send: raw(fPing, 0, 1, make([]byte, 8)), conn: proto},
		{name: "6.7 wrong length", send: raw(fPing, 0, 0, make([]byte, 9)), conn: size},
		{name: "6.8 on a stream", send: raw(fGoAway, 0, 1, make([]byte, 8)), conn: proto},
		{name: "6.8 too short", send: raw(fGoAway, 0, 0, make([]byte, 7)), conn: size},
		{name: "6.8 the last stream rises", send: join(goAway(1, 0, ""), goAway(1<<31-1, 0, "")), conn: proto},
		{name: "6.9 of 0 on a stream", send: window(1, 0), stream: proto},
		{name: "6.9 of 0 on the connection", send: window(0, 0), conn: proto},
		{name: "6.9 wrong length", send: raw(fWindow, 0, 1, make([]byte, 3)), conn: size},
		{name: "6.9 idle stream", send: window(7, 1), conn: proto},
		{name: "6.9.1 a stream's window past 2^31-1", send: window(1, 1<<31-1), stream: flow},
		{name: "6.9.1 the connection's window past 2^31-1", send: window(0, 1<<31-1), conn: flow},
		{name: "6.9.1 more than the stream's window", send: bytes.Repeat(raw(fData, 0, 1, make([]byte, 16384)), 4), stream: flow},
		{name: "6.9.1 more than the stream's window, with padding", send: join(bytes.Repeat(raw(fData, 0, 1, make([]byte, 16384)), 3),
			raw(fData, 8, 1, append([]byte{255}, make([]byte, 16383)...))), stream: flow},
		{name: "6.9.2 a setting takes a window past 2^31-1", send: join(window(1, 1<<31-1-65535), settings(4, 65536)), conn: flow},
		{name: "6.10 without HEADERS", send: raw(fContinuation, 4, 1, nil), conn: proto},
		{name: "6.10 stream 0", send: raw(fContinuation, 4, 0, nil), conn: proto},
		{name: "6.10 another stream", send: join(raw(fHeaders, 0, 1, nil), raw(fContinuation, 4, 3, nil)), conn: proto},
		{name: "6.10 another frame within a block", send: join(raw(fHeaders, 0, 1, nil), ping("12345678")), conn: proto},
		{name: "6.10 an unknown frame within a block", send: join(raw(fHeaders, 0, 1, nil), raw(0x77, 0, 1, nil)), conn: proto},
		{name: "6.10 after END_HEADERS", send: join(one(1), raw(fContinuation, 4, 1, nil)), conn: proto},
		{name: "6.10 END_HEADERS is missing", send: join(raw(fHeaders, 0, 1, nil), one(1)), conn: proto},
		{name: "RFC 7541 2.3.3 index past the tables", send: raw(fHeaders, 4, 1, []byte{0xff, 0x40}), conn: comp},
		{name: "RFC 7541 4.2 update after a field", send: raw(fHeaders, 4, 1, []byte{0x88, 0x20}), conn: comp},
		{name: "RFC 7541 5.1 integer past 2^32", send: raw(fHeaders, 4, 1, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}), conn: comp},
		{name: "RFC 7541 5.2 EOS", send: raw(fHeaders, 4, 1, []byte{0x40, 1, 'a', 0x84, 0xff, 0xff, 0xff, 0xff}), conn: comp},
		{name: "RFC 7541 5.2 padding of 8 bits", send: raw(fHeaders, 4, 1, []byte{0x40, 1, 'a', 0x82, 0x1f, 0xff}), conn: comp},
		{name: "RFC 7541 5.2 padding with zeros", send: raw(fHeaders, 4, 1, []byte{0x40, 1, 'a', 0x81, 0x18}), conn: comp},
		{name: "RFC 7541 6.1 index 0", send: raw(fHeaders, 4, 1, []byte{0x80}), conn: comp},
		{name: "RFC 7541 6.3 update past the limit", send: raw(fHeaders, 4, 1, []byte{0x3f, 0xe2, 0x1f, 0x88}), conn: comp},
	} {
		for side, last := range map[protocol.Side]string{protocol.Server: "1", protocol.Client: "0"} {
			t.Run(fmt.Sprintf("%s, side %d", tt.name, side), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					p := peerWithStream(t, side)
					p.send(tt.send, ping("87654321"))
					p.settle()
					got := slices.DeleteFunc(p.frames(), func(f string) bool { return strings.HasPrefix(f, "WINDOW") })
					want := []string{"GOAWAY " + last + " " + tt.conn, "EOF"}
					if tt.stream != "" {
						want = []string{"RST 1 " + tt.stream, "PING ack 87654321"}
					}
					same(t, "frames", got, want)
				})
			})
		}
	}
}

// TestNoViolations: what may look like one and is none, to either side. Stream 1 is open on
// both sides, and the connection goes on.
func TestNoViolations(t *testing.T) {
	large := join([]byte{0, 1, 'a', 0x7f, 0xfb, 0x7e}, bytes.Repeat([]byte("x"), 16378)) // a: xxx..., in 2^14 bytes
	twice := []byte{0x40, 1, 'a', 1, 'b', 0x40, 1, 'a', 1, 'b', 0xbe, 0xbf}
	tooLarge := join([]byte{0x40, 1, 'a', 0x7f, 0x89, 0x26}, bytes.Repeat([]byte("x"), 5000), []byte{0, 1, 'c', 1, 'd'})
	priority := func(id uint32) []byte { return raw(fPriority, 0, id, []byte{0, 0, 0, 3, 1}) }
	block := func(b ...byte) []byte { return raw(fHeaders, 4, 1, b) }
	for _, tt := range []struct {
		name string
		send []byte
		want []string
		told string // how that begins
	}{
		{name: "4.1 unknown types", send: join(raw(0x7f, 0xff, 1, []byte("what")), raw(0x20, 0, 0, nil), raw(0x20, 0, 7, nil))},
		{name: "4.1 flags that mean nothing", send: join(raw(fPing, 0xfe, 0, []byte("12345678")), raw(fData, 0xf6, 1, []byte("x"))), want: []string{"PING ack 12345678"}},
		{name: "4.1 the reserved bit", send: join(raw(fPing, 0, 1<<31, []byte("12345678")), raw(fData, 0, 1<<31|1, []byte("x"))), want: []string{"PING ack 12345678"}},
		{name: "4.2 frames of 2^14 bytes", send: join(raw(fData, 0, 1, make([]byte, 16384)), raw(fHeaders, 4, 1, large), raw(0x20, 0, 0, make([]byte, 16384))), told: "headers 1 a=xxx"},
		{name: "5.1 PRIORITY on streams in any state", send: join(priority(7), priority(1), rst(1, 8), priority(1)), told: "abort 1 "},
		{name: "5.4.2 RST_STREAM is not answered with one", send: join(rst(1, 8), rst(1, 8), window(1, 1)), told: "abort 1 "},
		{name: "5.5 unknown settings", send: settings(0x99, 7, 0, 0, 0xffff, 1<<31), want: []string{"SETTINGS ack"}},
		{name: "6.1 padding", send: raw(fData, 8, 1, []byte{2, 'x', 0, 0})},
		{name: "6.1 nothing but padding", send: raw(fData, 8, 1, []byte{2, 0, 0})},
		{name: "6.2 padding and priority", send: raw(fHeaders, 4|8|0x20, 1, []byte{2, 0, 0, 0, 3, 1, 0, 1, 'a', 1, 'b', 0, 0}), told: "headers 1 a=b"},
		{name: "6.5 each SETTINGS is acknowledged", send: join(settings(), settings(4, 1<<31-1, 4, 0), settings()), want: []string{"SETTINGS ack", "SETTINGS ack", "SETTINGS ack"}},
		{name: "6.7 an acknowledgement is not answered", send: raw(fPing, 1, 0, make([]byte, 8))},
		{name: "6.8 a GOAWAY with debug data, twice", send: join(goAway(1<<31-1, 0, "soon"), goAway(1, 0, "now")), told: "goaway NO_ERROR"},
		{name: "6.9 the reserved bit", send: window(1, 1<<31|5)},
		{name: "6.10 empty fragments", send: join(raw(fHeaders, 0, 1, nil), raw(fContinuation, 0, 1, []byte{0, 1, 'a'}), raw(fContinuation, 4, 1, []byte{1, 'b'})), told: "headers 1 a=b"},
		{name: "7 GOAWAY with an unknown code", send: goAway(1, 0x99, "what"), told: "goaway unknown error code 0x99"},
		{name: "7 RST_STREAM with an unknown code", send: rst(1, 0x99), told: "abort 1 stream terminated by RST_STREAM with error code: unknown error code 0x99"},
		{name: "RFC 7541 2.1 the order of fields", send: block(0, 1, 'b', 1, '1', 0, 1, 'a', 1, '2', 0, 1, 'b', 1, '3'), told: "headers 1 b=1 a=2 b=3"},
		{name: "RFC 7541 2.3.2 the same entry twice", send: block(twice...), told: "headers 1 a=b a=b a=b a=b"},
		{name: "RFC 7541 4.2 two updates at the beginning", send: block(0x20, 0x3f, 0x45, 0, 1, 'a', 1, 'b'), told: "headers 1 a=b"},
		{name: "RFC 7541 4.4 an entry that is larger than the table", send: block(tooLarge...), told: "headers 1 a=xxx"},
		{name: "RFC 7541 6.2.3 never to be indexed", send: block(0x10, 1, 'a', 1, 'b'), told: "headers 1 a=b"},
	} {
		for _, side := range []protocol.Side{protocol.Server, protocol.Client} {
			t.Run(fmt.Sprintf("%s, side %d", tt.name, side), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					p := peerWithStream(t, side)
					p.role.take()
					p.send(tt.send, ping("87654321"))
					p.settle()
					got := slices.DeleteFunc(p.frames(), func(f string) bool { return strings.HasPrefix(f, "WINDOW") })
					same(t, "frames", got, append(slices.Clip(tt.want), "PING ack 87654321"))
					told := p.role.take()
					if tt.told == "" && len(told) > 0 || tt.told != "" && (len(told) == 0 || !strings.HasPrefix(told[0], tt.told)) {
						t.Errorf("told %.200q, want %q", told, tt.told)
					}
				})
			})
		}
	}
}

// TestAfterReset: what a peer sends on a stream before it knows that we have reset it is
// dropped, 5.1, and counts all the same: its field blocks in the HPACK table, 4.3, its DATA
// in the connection's window, 6.9.
func TestAfterReset(t *testing.T) {
	for _, side := range []protocol.Side{protocol.Server, protocol.Client} {
		bubble(t, func(t *testing.T) {
			p := newPeer(t, side, peerConfig{Config: protocol.Config{StaticWindow: true}})
			if side == protocol.Server {
				p.send(p.request(1, false))
				p.role.stream(1).Reset(frame.Cancel)
			} else {
				p.open(protocol.Frames{}).Reset(frame.Cancel)
			}
			p.settle()
			p.frames()
			p.role.take()
			p.send(p.headers(1, false, "a", "b"), raw(fData, 0, 1, make([]byte, 16384)), window(1, 1),
				p.headers(1, true, "c", "d"), window(1, 1), rst(1, 8), ping("12345678"))
			p.want("WINDOW 0 16384", "PING ack 12345678")
			p.wantTold()
			if side == protocol.Server {
				p.send(p.headers(3, true, "a", "b", "c", "d"))
				p.wantTold("opened 3 a=b c=d end")
				return
			}
			p.open(protocol.Frames{End: true})
			p.send(p.headers(3, true, "a", "b", "c", "d"))
			p.wantTold("headers 3 a=b c=d end")
			p.want("HEADERS 3 end :method=POST :path=/x")
		})
	}
}

// TestClientRules: what a server must not do. Stream 1 is open on both sides.
func TestClientRules(t *testing.T) {
	tests := []struct {
		name string
		send func(p *testPeer) []byte
		want []string
		told []string
	}{
		{
			name: "5.1 HEADERS on an idle stream", send: func(p *testPeer) []byte { return p.headers(3, false, response...) },
			want: broken("0", "PROTOCOL_ERROR"),
		},
		{
			name: "5.1.1 a server opens a stream", send: func(p *testPeer) []byte { return p.headers(2, false, response...) },
			want: broken("0", "PROTOCOL_ERROR"),
		},
		{name: "5.1 DATA on an idle stream", send: func(*testPeer) []byte { return data(3, "x", false) }, want: broken("0", "PROTOCOL_ERROR")},
		{name: "5.1 RST_STREAM on an idle stream", send: func(*testPeer) []byte { return rst(2, 0) }, want: broken("0", "PROTOCOL_ERROR")},
		{name: "5.1 DATA after END_STREAM", send: func(p *testPeer) []byte {
			return join(p.headers(1, true, response...), data(1, "x", false))
		}, want: []string{"RST 1 NO_ERROR", "RST 1 STREAM_CLOSED"}, told: []string{"headers 1 :status=200 end"}},
		{name: "5.1 HEADERS after END_STREAM", send: func(p *testPeer) []byte {
			return join(p.headers(1, true, response...), p.headers(1, true, trailers...), ping("12345678"))
		}, want: []string{"RST 1 NO_ERROR", "PING ack 12345678"}, told: []string{"headers 1 :status=200 end"}},
		{name: "6.9 RST_STREAM and WINDOW_UPDATE after END_STREAM", send: func(p *testPeer) []byte {
			return join(p.headers(1, true, response...), window(1, 1), rst(1, 0), window(1, 1), ping("12345678"))
		}, want: []string{"RST 1 NO_ERROR", "PING ack 12345678"}, told: []string{"headers 1 :status=200 end"}},
		{name: "6.5.2 ENABLE_PUSH 1", send: func(*testPeer) []byte { return settings(2, 1) }, want: broken("0", "PROTOCOL_ERROR")},
		{name: "6.5.2 ENABLE_PUSH 0", send: func(*testPeer) []byte { return settings(2, 0) }, want: []string{"SETTINGS ack"}},
		{name: "6.6 PUSH_PROMISE", send: func(*testPeer) []byte {
			return raw(fPush, 4, 1, []byte{0, 0, 0, 2, 0x82})
		}, want: broken("0", "PROTOCOL_ERROR")},
		{name: "6.4 RST_STREAM", send: func(p *testPeer) []byte {
			return join(p.headers(1, false, response...), rst(1, http2.ErrCodeEnhanceYourCalm))
		}, told: []string{
			"headers 1 :status=200",
			"abort 1 stream terminated by RST_STREAM with error code: ENHANCE_YOUR_CALM",
		}},
		{name: "8.7 REFUSED_STREAM", send: func(*testPeer) []byte { return rst(1, http2.ErrCodeRefusedStream) }, told: []string{
			"abort 1 stream terminated by RST_STREAM with error code: REFUSED_STREAM unprocessed",
		}},
		{name: "8.1 reply", send: func(p *testPeer) []byte {
			return join(p.headers(1, false, response...), data(1, "hello", false), p.headers(1, true, trailers...))
		}, want: []string{"RST 1 NO_ERROR"}, told: []string{"headers 1 :status=200", "headers 1 grpc-status=0 end"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPeer(t, protocol.Client, peerConfig{})
				p.open(protocol.Frames{})
				p.want("HEADERS 1 :method=POST :path=/x")
				p.send(tt.send(p))
				p.want(tt.want...)
				if tt.told != nil {
					p.wantTold(tt.told...)
				} else if len(tt.want) > 0 && tt.want[len(tt.want)-1] == "EOF" {
					l := p.role.take()
					if len(l) != 2 || !strings.HasPrefix(l[0], "closed: connection error") || !strings.HasPrefix(l[1], "abort 1 ") {
						t.Errorf("told %q", l)
					}
				}
			})
		})
	}
}
