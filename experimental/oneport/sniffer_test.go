// SPDX-License-Identifier: Apache-2.0

package oneport

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/hpack"
)

// hello is what a client of HTTP/2 begins with.
func hello(more ...[]byte) []byte {
	p := frame.AppendSettings([]byte(frame.ClientPreface), frame.Setting{ID: frame.EnablePush, Value: 0})
	return append(p, bytes.Join(more, nil)...)
}

// block is a field block: names and values in turn.
func block(fields ...string) []byte {
	var e hpack.Encoder
	e.Init(hpack.MaxEncoderTable)
	p := e.Begin(nil)
	for i := 0; i < len(fields); i += 2 {
		p = e.AppendField(p, fields[i], fields[i+1], 0)
	}
	return p
}

func request(contentType string) []byte {
	fields := []string{":method", "POST", ":scheme", "http", ":path", "/a/b", ":authority", "test"}
	if contentType != "" {
		fields = append(fields, "content-type", contentType)
	}
	return block(append(fields, "te", "trailers")...)
}

func headers(block []byte) []byte {
	return frame.FinishHeaders(append(frame.ReserveHeaders(nil), block...), 0, 1, false, 0)
}

// continued divides a block among a HEADERS and some CONTINUATION frames.
func continued(block []byte, at ...int) []byte {
	var p []byte
	h := frame.Header{Type: frame.Headers, StreamID: 1}
	from := 0
	for _, to := range append(at, len(block)) {
		if to == len(block) {
			h.Flags |= frame.FlagEndHeaders
		}
		h.Length = uint32(to - from)
		p = append(frame.AppendHeader(p, h), block[from:to]...)
		h.Type, from = frame.Continuation, to
	}
	return p
}

var (
	update  = frame.AppendWindowUpdate(nil, 0, 1<<20)
	ack     = frame.AppendSettingsAck(nil)
	ping    = frame.AppendPing(nil, false, [8]byte{1})
	unheard = frame.AppendHeader(nil, frame.Header{Type: 0x77})
	large   = block(":method", "POST", "x", strings.Repeat("y", 100_000), "content-type", "application/grpc")
)

var sniffed = []struct {
	name string
	said []byte
	want verdict
}{
	{"nothing", nil, unknown},
	{"HTTP/1", []byte("GET / HTTP/1.1\r\n"), forHTTP},
	{"almost the preface", []byte("PRI * HTTP/1"), forHTTP},
	{"POST", []byte("PO"), forHTTP},
	{"some of the preface", []byte("PRI * HT"), unknown},
	{"preface", []byte(frame.ClientPreface), unknown},
	{"SETTINGS", hello(), unknown},
	{"other frames", hello(update, ping, unheard), unknown},
	{"gRPC", hello(update, headers(request("application/grpc"))), forGRPC},
	{"gRPC, subtype", hello(headers(request("application/grpc+proto"))), forGRPC},
	{"gRPC, parameter", hello(headers(request("Application/gRPC;charset=utf-8"))), forGRPC},
	{"gRPC-Web", hello(headers(request("application/grpc-web+proto"))), forHTTP},
	{"HTML", hello(headers(request("text/html"))), forHTTP},
	{"no type", hello(headers(request(""))), forHTTP},
	{"gRPC, continued", hello(continued(request("application/grpc"), 1, 2, 20)), forGRPC},
	{"HTTP, continued", hello(continued(request("text/html"), 5)), forHTTP},
	{"not all of the fields, but enough", hello(continued(request("application/grpc"), 35)[:9+35]), forGRPC},
	{"fields without end", hello(continued(large, 16384, 32768, 49152, 65536, 81920)), forHTTP},
	{"no SETTINGS", append([]byte(frame.ClientPreface), update...), forHTTP},
	{"an acknowledgement first", append([]byte(frame.ClientPreface), ack...), forHTTP},
	{"DATA first", hello(frame.AppendDataHeader(nil, 1, 0, true)), forHTTP},
	{"too large a frame", hello(frame.AppendHeader(nil, frame.Header{Length: 1 << 20, Type: frame.Headers, StreamID: 1})), forHTTP},
	{"a frame between", hello(continued(request("application/grpc"), 5)[:14], ping), forHTTP},
	{"HPACK is wrong", hello(headers([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})), forHTTP},
	{"PINGs without end", hello(bytes.Repeat(ping, 5000)), forHTTP},
}

func TestSniffer(t *testing.T) {
	for _, test := range sniffed {
		for _, size := range []int{1, 7, 1000, 1 << 20} {
			var s sniffer
			for p := test.said; len(p) > 0; p = p[min(size, len(p)):] {
				s.add(p[:min(size, len(p))])
			}
			if s.v != test.want {
				t.Errorf("%s, by %d: %d, want %d", test.name, size, s.v, test.want)
			}
			if !bytes.Equal(s.seen, test.said) {
				t.Errorf("%s, by %d: something else is given back", test.name, size)
			}
			if s.isDone() != (test.want != unknown) {
				t.Errorf("%s, by %d: done %t", test.name, size, s.isDone())
			}
		}
	}
}

// What acknowledges our SETTINGS is not given back, wherever it stands.
func TestSnifferAcknowledged(t *testing.T) {
	parts := [][]byte{update, headers(request("text/html")), frame.AppendPing(nil, true, [8]byte{}), headers(request("x"))}
	for at := range len(parts) + 1 {
		said := append([][]byte{hello()}, parts[:at]...)
		said = append(append(said, ack), parts[at:]...)
		for _, size := range []int{1, 9, 1 << 20} {
			s := sniffer{owed: true}
			done := false
			var given []byte
			for p := bytes.Join(said, nil); len(p) > 0; p = p[min(size, len(p)):] {
				if done = s.isDone(); done {
					given = p // as if it had not been read
					break
				}
				s.add(p[:min(size, len(p))])
			}
			if got, want := append(s.seen, given...), hello(parts...); !bytes.Equal(got, want) || s.v != forHTTP || s.owed {
				t.Errorf("at %d, by %d: %q, want %q; %d, owed %t", at, size, got, want, s.v, s.owed)
			}
		}
	}
}

func TestSnifferStuck(t *testing.T) {
	s := sniffer{owed: true}
	s.add(hello(headers(request("text/html"))))
	for range maxUndecided + maxOwed {
		if s.isStuck() {
			return
		}
		s.add(ping)
	}
	t.Error("it may go on for ever")
}

func TestSnifferGivesUp(t *testing.T) {
	for _, test := range []struct {
		said []byte
		want verdict
	}{
		{nil, forHTTP},
		{[]byte("PRI"), forHTTP},
		{[]byte(frame.ClientPreface), forHTTP},
		{hello(), forGRPC},
		{hello(update, ping), forGRPC},
		{hello(update[:5]), forHTTP},
		{hello(continued(request("application/grpc"), 5)[:14]), forHTTP},
		{hello(headers(request("text/html"))), forHTTP},
		{hello(headers(request("application/grpc"))), forGRPC},
	} {
		var s sniffer
		s.add(test.said)
		if s.giveUp(); s.v != test.want {
			t.Errorf("%q: %d, want %d", test.said, s.v, test.want)
		}
	}
}

// FuzzSniffer has the same said in pieces and at once.
func FuzzSniffer(f *testing.F) {
	for _, test := range sniffed {
		f.Add(test.said[:min(len(test.said), 4000)], uint8(3), false)
		f.Add(test.said[:min(len(test.said), 4000)], uint8(200), true)
	}
	f.Fuzz(func(t *testing.T, said []byte, size uint8, owed bool) {
		said = said[:min(len(said), maxUndecided)]
		whole, pieces := sniffer{owed: owed}, sniffer{owed: owed}
		whole.add(said)
		step := int(size) + 1
		for p := said; len(p) > 0; p = p[min(step, len(p)):] {
			pieces.add(p[:min(step, len(p))])
		}
		if whole.v != pieces.v || whole.owed != pieces.owed || !bytes.Equal(whole.seen, pieces.seen) {
			t.Fatalf("at once %d, %t, in pieces %d, %t", whole.v, whole.owed, pieces.v, pieces.owed)
		}
		if len(whole.seen) != len(said) && (!owed || len(whole.seen) != len(said)-frame.HeaderLen) {
			t.Fatalf("%d of %d bytes are given back", len(whole.seen), len(said))
		}
	})
}

// dripped is a client that sends a name of 8*n octets, and 2,000 octets of the value behind it, one a
// frame.
func dripped(n int) []byte {
	octets := 5 * n // 8 times "a" in Huffman's code
	b := []byte{0, 0x80 | 127, byte(octets-127)&127 | 128, byte((octets-127)>>7)&127 | 128, byte((octets - 127) >> 14)}
	b = append(b, bytes.Repeat([]byte{0x18, 0xc6, 0x31, 0x8c, 0x63}, n)...)
	b = append(b, 127, 0xff, 0xff, 63) // the length of the value, 1 MiB
	said, kind := hello(), frame.Headers
	add := func(p []byte) {
		said = append(frame.AppendHeader(said, frame.Header{Type: kind, StreamID: 1, Length: uint32(len(p))}), p...)
		kind = frame.Continuation
	}
	for len(b) > 0 {
		size := min(len(b), frame.MinMaxFrameSize)
		add(b[:size])
		b = b[size:]
	}
	for range 2000 {
		add([]byte{'v'})
	}
	return said
}

// TestSnifferIsLinear: a field that comes an octet a frame is not decoded anew at each.
func TestSnifferIsLinear(t *testing.T) {
	took := func(said []byte) time.Duration {
		least := time.Hour
		for range 5 {
			start := time.Now()
			var s sniffer
			s.add(said)
			least = min(least, time.Since(start))
			if s.v != unknown {
				t.Fatalf("decided: %d", s.v)
			}
		}
		return least
	}
	short, long := took(dripped(40)), took(dripped(5_000))
	if long > 10*short+5*time.Millisecond {
		t.Errorf("behind a name of 40,000 octets %v, behind one of 320 %v", long, short)
	}
}
